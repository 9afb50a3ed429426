"""Orders: how they ended, and lists of them."""

from collections.abc import Iterator
from typing import Optional, Union

from .answers import Answer, Page, PlacedOrder
from .calls import Calls
from .errors import UnsuccessfulError
from .records import DomainEvent, Order, OrderStatus
from .transport import path_of
from .waiting import OnStatus, wait_until_final

_FINAL = ("Finished", "Errors", "FailedValidation", "Cancelled")


class OrderCalls(Calls):
    """The calls that follow and list orders."""

    def get_order(
        self, order_code: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[Order]:
        """Return any order, of a registration or a registered name.

        The service holds the answer until the status changes, at most ``wait_seconds``.

        Route: GET /orders/:order_code
        Errors: bad_request, order_not_found
        """
        return self._object(path_of("orders", order_code), wait_seconds)

    def finished(
        self,
        order: Union[PlacedOrder, str],
        *,
        timeout_seconds: float = 600,
        on_status: Optional[OnStatus] = None,
    ) -> Answer[Order]:
        """Wait until an order, or the one with this code, is ``Finished``.

        Raise ``UnsuccessfulError`` when it ends otherwise, and ``WaitTimeoutError``
        when the time runs out. ``on_status`` is called with the first status and each
        change. It survives temporary outages of the service.

        Route: GET /orders/:order_code
        Errors: bad_request, order_not_found
        """
        code = order if isinstance(order, str) else order.order_code
        answer = wait_until_final(
            lambda wait_seconds: self.get_order(code, wait_seconds=wait_seconds),
            lambda status: status in _FINAL,
            timeout_seconds=timeout_seconds,
            check_after_seconds=None
            if isinstance(order, str)
            else order.check_after_seconds,
            on_status=on_status,
            clock=self._transport.clock,
        )
        if answer.data["status"] != "Finished":
            raise UnsuccessfulError(f"the order {code}", answer.data)
        return answer

    def list_orders(
        self,
        *,
        domain_name: Optional[str] = None,
        kind: Optional[str] = None,
        status: Optional[OrderStatus] = None,
        skip: Optional[int] = None,
        take: Optional[int] = None,
    ) -> Page[Order]:
        """Return one page of orders, the newest first.

        Route: GET /orders
        Errors: bad_request, invalid_paging_request
        """
        filters = {"domain_name": domain_name, "kind": kind, "status": status}
        return self._page("/orders", {**filters, "skip": skip, "take": take})

    def all_orders(
        self,
        *,
        domain_name: Optional[str] = None,
        kind: Optional[str] = None,
        status: Optional[OrderStatus] = None,
    ) -> Iterator[Order]:
        """Yield every order that the filters select, the newest first.

        Route: GET /orders
        Errors: bad_request, invalid_paging_request
        """
        filters = {"domain_name": domain_name, "kind": kind, "status": status}
        return self._all("/orders", filters)

    def list_domain_history(
        self,
        domain_name: str,
        *,
        skip: Optional[int] = None,
        take: Optional[int] = None,
    ) -> Page[DomainEvent]:
        """Return one page of what happened to a name, the newest first.

        Route: GET /domains/:domain_name/history
        Errors: domain_not_found, domain_not_valid, invalid_paging_request
        """
        path = path_of("domains", domain_name, "history")
        return self._page(path, {"skip": skip, "take": take})

    def all_domain_history(self, domain_name: str) -> Iterator[DomainEvent]:
        """Yield everything that happened to a name, the newest first.

        Route: GET /domains/:domain_name/history
        Errors: domain_not_found, domain_not_valid, invalid_paging_request
        """
        return self._all(path_of("domains", domain_name, "history"), {})
