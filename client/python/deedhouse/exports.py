"""Whole lists as CSV."""

from collections.abc import Iterator
from typing import Optional

from .calls import Calls
from .domains import domain_filter
from .records import OrderStatus, RenewalStatus


class ExportCalls(Calls):
    """Whole lists as CSV, in parts as they arrive; a part may end within a line.

    A list that breaks off raises ``NoAnswerError``, so what has come is the whole list
    only at the end of the iteration. Each counts as ten requests.
    """

    def export_domains(
        self,
        *,
        name_prefix: Optional[str] = None,
        expires_before: Optional[str] = None,
        will_renew: Optional[bool] = None,
    ) -> Iterator[bytes]:
        """Yield the portfolio, or the part that the filters select.

        Route: GET /domains
        Errors: bad_request
        """
        return self._csv(
            "/domains", domain_filter(name_prefix, expires_before, will_renew)
        )

    def export_orders(
        self,
        *,
        domain_name: Optional[str] = None,
        kind: Optional[str] = None,
        status: Optional[OrderStatus] = None,
    ) -> Iterator[bytes]:
        """Yield orders.

        Route: GET /orders
        Errors: bad_request
        """
        filters = {"domain_name": domain_name, "kind": kind, "status": status}
        return self._csv("/orders", filters)

    def export_renewals(
        self, *, status: Optional[RenewalStatus] = None
    ) -> Iterator[bytes]:
        """Yield upcoming and recent renewals.

        Route: GET /renewals
        Errors: bad_request
        """
        return self._csv("/renewals", {"status": status})

    def export_departures(self) -> Iterator[bytes]:
        """Yield the names that have left the portfolio.

        Route: GET /domains/departures
        """
        return self._csv("/domains/departures", {})
