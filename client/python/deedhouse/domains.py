"""The portfolio of names, registrations, and orders about names."""

from collections.abc import Sequence
from typing import Any, Optional

from .answers import Answer, PlacedOrder, list_answer, object_answer
from .items import ExportableItems, Items
from .records import (
    AuthCode,
    Availability,
    Contacts,
    Departure,
    Domain,
    DomainEvent,
    DsRecord,
    KeyRecord,
    NameServers,
    Order,
    RegistrationPlan,
    RejectReason,
)
from .resource import Resource
from .transport import path_of, query_of


class Domains(Resource):
    """Names, and orders about them: pass what was placed to ``orders.finished``."""

    def list(
        self,
        *,
        name_prefix: Optional[str] = None,
        expires_before: Optional[str] = None,
        will_renew: Optional[bool] = None,
    ) -> ExportableItems[Domain]:
        """Return the portfolio, or the part that the filters select.

        All filters that are given must hold. ``name_prefix`` is the beginning of the
        name as an A-label, ``expires_before`` a date, or a time with its zone.

        Route: GET /domains
        Errors: bad_request
        """
        filters = {
            "name_prefix": name_prefix,
            "expires_before": expires_before,
            "will_renew": will_renew,
        }
        return ExportableItems(self._transport, "/domains", filters)

    def get(self, domain_name: str) -> Answer[Domain]:
        """Return one name, in any spelling.

        Route: GET /domains/:domain_name
        Errors: domain_not_found, domain_not_valid, invalid_request
        """
        return self._read(path_of("domains", domain_name))

    def history(self, domain_name: str) -> Items[DomainEvent]:
        """Return what happened to a name, the newest first.

        Route: GET /domains/:domain_name/history
        Errors: domain_not_found, domain_not_valid
        """
        return Items(self._transport, path_of("domains", domain_name, "history"))

    def departures(self) -> ExportableItems[Departure]:
        """Return the names that have left the portfolio, the newest first.

        Route: GET /domains/departures
        """
        return ExportableItems(self._transport, "/domains/departures")

    def check_availability(
        self, domain_names: Sequence[str]
    ) -> Answer[Sequence[Availability]]:
        """Return whether names can be registered, in their order.

        At most 50, and each counts as a request.

        Route: GET /domains/availability
        Errors: bad_request
        """
        query = query_of({"names": ",".join(domain_names)})
        return list_answer(
            self._transport.send("GET", "/domains/availability", query=query)
        )

    def check_registration(
        self,
        domain_name: str,
        *,
        years: Optional[int] = None,
        name_servers: Optional[NameServers] = None,
        contacts: Optional[Contacts] = None,
        will_renew: Optional[bool] = None,
        allocation_token: Optional[str] = None,
    ) -> Answer[RegistrationPlan]:
        """Make every check of a registration, and order nothing.

        Route: POST /domains/registrations
        Errors: bad_request, domain_availability_blocked,
            domain_availability_lookuperror, domain_availability_taken,
            order_limit_reached
        """
        body = _registration(
            domain_name, years, name_servers, contacts, will_renew, allocation_token
        )
        reply = self._transport.send(
            "POST", "/domains/registrations", body={**body, "dry_run": True}
        )
        return object_answer(reply)

    def register(
        self,
        domain_name: str,
        *,
        years: Optional[int] = None,
        name_servers: Optional[NameServers] = None,
        contacts: Optional[Contacts] = None,
        will_renew: Optional[bool] = None,
        allocation_token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Order the registration of a name.

        The account's profile takes the place of contacts that are left out. A name that
        you hold already gets ``domain_availability_taken`` with its ``location``.

        Route: POST /domains/registrations
        Errors: bad_request, domain_availability_blocked,
            domain_availability_lookuperror, domain_availability_taken,
            order_limit_reached
        """
        body = _registration(
            domain_name, years, name_servers, contacts, will_renew, allocation_token
        )
        return self._order("POST", "/domains/registrations", idempotency_key, body)

    def get_registration(
        self, order_code: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[Order]:
        """Return the status of a registration; ``orders.get`` returns more.

        The service holds the answer until the status changes, at most ``wait_seconds``.

        Route: GET /domains/registrations/:order_code
        Errors: bad_request, order_not_found
        """
        path = path_of("domains", "registrations", order_code)
        return self._read(path, wait_seconds)

    def renew(
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

    def delete(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Delete a name. Needs a key with the scope ``domains:delete``.

        Route: DELETE /domains/:domain_name
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name)
        query = query_of({"confirm": domain_name})
        return self._order("DELETE", path, idempotency_key, query=query)

    def restore(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Bring a deleted name of yours back. This costs money.

        Route: POST /domains/:domain_name/restores
        Errors: domain_not_found, domain_not_restorable, domain_not_valid,
            domain_renewal_underway, order_limit_reached
        """
        path = path_of("domains", domain_name, "restores")
        return self._order("POST", path, idempotency_key)

    def set_will_renew(
        self,
        domain_name: str,
        will_renew: bool,
        *,
        idempotency_key: Optional[str] = None,
    ) -> Answer[None]:
        """Set whether a name will renew at the end of its term.

        Once the registry is carrying it out: ``domain_renewal_underway``.

        Route: PUT /domains/:domain_name/renew
        Errors: bad_request, domain_not_found, domain_not_valid, domain_renewal_underway
        """
        path = path_of("domains", domain_name, "renew")
        return self._write("PUT", path, idempotency_key, {"will_renew": will_renew})

    def get_contacts(self, domain_name: str) -> Answer[Contacts]:
        """Return whom the registry shows.

        Route: GET /domains/:domain_name/contacts
        Errors: domain_not_found, domain_not_valid
        """
        return self._read(path_of("domains", domain_name, "contacts"))

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
        Errors: bad_request, domain_has_ds, domain_not_found, domain_not_valid,
            order_limit_reached
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
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached,
            zone_unsigned
        """
        path = path_of("domains", domain_name, "dnssec")
        return self._order("PUT", path, idempotency_key, {"ds": ds, "keys": keys})

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
        return self._read(path_of("domains", domain_name, "auth-code"))

    def approve_transfer(
        self, domain_name: str, *, idempotency_key: Optional[str] = None
    ) -> PlacedOrder:
        """Let the name go to the registrar that requests it now.

        Route: POST /domains/:domain_name/transfer-out
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "transfer-out")
        return self._order("POST", path, idempotency_key, {"answer": "approve"})

    def reject_transfer(
        self,
        domain_name: str,
        reason: RejectReason,
        *,
        idempotency_key: Optional[str] = None,
    ) -> PlacedOrder:
        """Refuse the transfer that another registrar requests now.

        Route: POST /domains/:domain_name/transfer-out
        Errors: bad_request, domain_not_found, domain_not_valid, order_limit_reached
        """
        path = path_of("domains", domain_name, "transfer-out")
        body = {"answer": "reject", "reason": reason}
        return self._order("POST", path, idempotency_key, body)


def _registration(
    domain_name: str,
    years: Optional[int],
    name_servers: Optional[NameServers],
    contacts: Optional[Contacts],
    will_renew: Optional[bool],
    allocation_token: Optional[str],
) -> dict[str, Any]:
    others = dict(contacts or {})
    registrant = others.pop("registrant", None)
    return {
        "domain_name": domain_name,
        "years": years,
        "name_servers": name_servers,
        "registrant": registrant,
        "contacts": others or None,
        "will_renew": will_renew,
        "allocation_token": allocation_token,
    }
