"""Orders about registered names: pass each to :meth:`Client.finished`."""

from collections.abc import Sequence
from typing import Literal, Optional

from .answers import Answer, PlacedOrder
from .calls import Calls
from .records import (
    AuthCode,
    Contacts,
    DsRecord,
    KeyRecord,
    NameServers,
    RejectReason,
)
from .transport import path_of, query_of


class ChangeCalls(Calls):
    """The calls that change, renew, delete, restore and transfer a name."""

    def get_contacts(self, domain_name: str) -> Answer[Contacts]:
        """Return whom the registry shows.

        Route: GET /domains/:domain_name/contacts
        Errors: domain_not_found, domain_not_valid
        """
        return self._object(path_of("domains", domain_name, "contacts"))

    def set_contacts(
        self,
        domain_name: str,
        contacts: Contacts,
        *,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Order other contacts; roles that are left out stay.

        Route: PUT /domains/:domain_name/contacts
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "contacts")
        return self._order("PUT", path, idempotency_key, contacts)

    def set_name_servers(
        self,
        domain_name: str,
        name_servers: NameServers,
        *,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Replace the name servers.

        Hosts below the name itself need addresses, unless they exist.

        Route: PUT /domains/:domain_name/nameservers
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "nameservers")
        return self._order("PUT", path, idempotency_key, {"name_servers": name_servers})

    def set_dnssec(
        self,
        domain_name: str,
        *,
        ds: Optional[Sequence[DsRecord]] = None,
        keys: Optional[Sequence[KeyRecord]] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Replace the DNSSEC records by ``ds`` or ``keys``; an empty list removes all.

        Route: PUT /domains/:domain_name/dnssec
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "dnssec")
        return self._order("PUT", path, idempotency_key, {"ds": ds, "keys": keys})

    def renew_domain(
        self,
        domain_name: str,
        *,
        years: int,
        expiration_date: str,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Renew a name now. This costs money.

        ``expiration_date`` is the one that the name has now, or its UTC date, so that a
        repeat never buys a second term.

        Route: POST /domains/:domain_name/renewals
        Errors: bad_request, domain_expiration_changed, domain_not_found,
            domain_not_valid, domain_renewal_underway, order_limit_reached
        """
        path = path_of("domains", domain_name, "renewals")
        body = {"years": years, "expiration_date": expiration_date}
        return self._order("POST", path, idempotency_key, body)

    def delete_domain(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Delete a name. Needs a key with the scope ``domains:delete``.

        Route: DELETE /domains/:domain_name
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name)
        query = query_of({"confirm": domain_name})
        return self._order("DELETE", path, idempotency_key, query=query)

    def restore_domain(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Bring a deleted name of yours back. This costs money.

        Route: POST /domains/:domain_name/restores
        Errors: domain_not_found, domain_not_restorable, domain_not_valid,
            domain_renewal_underway, order_limit_reached
        """
        path = path_of("domains", domain_name, "restores")
        return self._order("POST", path, idempotency_key)

    def set_transfer_lock(
        self,
        domain_name: str,
        is_locked: bool,
        *,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Set whether other registrars can transfer the name away.

        Route: PUT /domains/:domain_name/transfer-lock
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "transfer-lock")
        return self._order("PUT", path, idempotency_key, {"transfer_locked": is_locked})

    def order_auth_code(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Order a new auth code; once it is finished, :meth:`get_auth_code` reads it.

        Needs a key with the scope ``domains:transfer``.

        Route: POST /domains/:domain_name/auth-code
        Errors: auth_code_not_issued, domain_locked, domain_not_found, domain_not_valid,
            domain_transfer_prohibited, order_limit_reached
        """
        path = path_of("domains", domain_name, "auth-code")
        return self._order("POST", path, idempotency_key)

    def get_auth_code(self, domain_name: str) -> Answer[AuthCode]:
        """Return the auth code, from the end of its order until it expires.

        Route: GET /domains/:domain_name/auth-code
        Errors: auth_code_not_found, domain_not_found, domain_not_valid
        """
        return self._object(path_of("domains", domain_name, "auth-code"))

    def answer_transfer(
        self,
        domain_name: str,
        answer: Literal["approve", "reject"],
        *,
        reason: Optional[RejectReason] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Answer the transfer that another registrar requests now.

        A reject has a ``reason``.

        Route: POST /domains/:domain_name/transfer-out
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "transfer-out")
        body = {"answer": answer, "reason": reason}
        return self._order("POST", path, idempotency_key, body)
