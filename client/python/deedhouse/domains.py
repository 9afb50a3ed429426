"""The portfolio of names, and registrations."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

from .answers import Answer, Page, PlacedOrder, object_answer
from .calls import Calls
from .records import (
    Availability,
    Contacts,
    Departure,
    Domain,
    NameServers,
    Order,
    RegistrationPlan,
    Renewal,
    RenewalStatus,
)
from .transport import Query, path_of


class DomainCalls(Calls):
    """The calls for names, their registration and their renewal."""

    def list_domains(
        self,
        *,
        name_prefix: Optional[str] = None,
        expires_before: Optional[str] = None,
        will_renew: Optional[bool] = None,
        skip: Optional[int] = None,
        take: Optional[int] = None,
    ) -> Page[Domain]:
        """Return one page of the portfolio, by default the first 25 names.

        All filters that are given must hold. ``name_prefix`` is the beginning of the
        name as an A-label, ``expires_before`` a date, or a time with its zone.

        Route: GET /domains
        Errors: bad_request, invalid_paging_request
        """
        filters = domain_filter(name_prefix, expires_before, will_renew)
        return self._page("/domains", {**filters, "skip": skip, "take": take})

    def all_domains(
        self,
        *,
        name_prefix: Optional[str] = None,
        expires_before: Optional[str] = None,
        will_renew: Optional[bool] = None,
    ) -> Iterator[Domain]:
        """Yield every name of the portfolio, or of the part that the filters select.

        It neither skips nor repeats one, even when the portfolio changes meanwhile.

        Route: GET /domains
        Errors: bad_request, invalid_paging_request
        """
        filters = domain_filter(name_prefix, expires_before, will_renew)
        return self._all("/domains", filters)

    def get_domain(self, domain_name: str) -> Answer[Domain]:
        """Return one name, in any spelling.

        Route: GET /domains/:domain_name
        Errors: domain_not_found, domain_not_valid, invalid_request
        """
        return self._object(path_of("domains", domain_name))

    def check_availability(
        self, domain_names: Sequence[str]
    ) -> Answer[list[Availability]]:
        """Return whether names can be registered, in their order.

        At most 50, and each counts as a request.

        Route: GET /domains/availability
        Errors: bad_request
        """
        return self._list("/domains/availability", {"names": ",".join(domain_names)})

    def list_departures(
        self, *, skip: Optional[int] = None, take: Optional[int] = None
    ) -> Page[Departure]:
        """Return one page of names that have left the portfolio, the newest first.

        Route: GET /domains/departures
        Errors: invalid_paging_request
        """
        return self._page("/domains/departures", {"skip": skip, "take": take})

    def all_departures(self) -> Iterator[Departure]:
        """Yield every name that has left the portfolio, the newest first.

        Route: GET /domains/departures
        Errors: invalid_paging_request
        """
        return self._all("/domains/departures", {})

    def register_domain(
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

    def get_registration(
        self, order_code: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[Order]:
        """Return the status of a registration; :meth:`get_order` returns more.

        The service holds the answer until the status changes, at most ``wait_seconds``.

        Route: GET /domains/registrations/:order_code
        Errors: bad_request, order_not_found
        """
        path = path_of("domains", "registrations", order_code)
        return self._object(path, wait_seconds)

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

    def list_renewals(
        self,
        *,
        status: Optional[RenewalStatus] = None,
        skip: Optional[int] = None,
        take: Optional[int] = None,
    ) -> Page[Renewal]:
        """Return one page of upcoming and recent renewals, by the end of the term.

        Route: GET /renewals
        Errors: bad_request, invalid_paging_request
        """
        return self._page("/renewals", {"status": status, "skip": skip, "take": take})

    def all_renewals(
        self, *, status: Optional[RenewalStatus] = None
    ) -> Iterator[Renewal]:
        """Yield every upcoming and recent renewal, by the end of the term.

        Route: GET /renewals
        Errors: bad_request, invalid_paging_request
        """
        return self._all("/renewals", {"status": status})


def domain_filter(
    name_prefix: Optional[str],
    expires_before: Optional[str],
    will_renew: Optional[bool],
) -> Query:
    """Return the filters of a list of names."""
    return {
        "name_prefix": name_prefix,
        "expires_before": expires_before,
        "will_renew": will_renew,
    }


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
