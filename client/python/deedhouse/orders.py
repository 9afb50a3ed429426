"""Orders: how they ended, and lists of them."""

from typing import Optional, Union

from .answers import Answer, PlacedOrder
from .errors import UnsuccessfulError
from .items import ExportableItems
from .records import Order, OrderStatus
from .resource import Resource
from .transport import path_of
from .waiting import OnStatus, wait_until_final

_FINAL = ("Finished", "Errors", "FailedValidation", "Cancelled")


class Orders(Resource):
    """Orders, of registrations and of registered names."""

    def list(
        self,
        *,
        domain_name: Optional[str] = None,
        kind: Optional[str] = None,
        status: Optional[OrderStatus] = None,
    ) -> ExportableItems[Order]:
        """Return the orders that the filters select, the newest first.

        Route: GET /orders
        Errors: bad_request
        """
        filters = {"domain_name": domain_name, "kind": kind, "status": status}
        return ExportableItems(self._transport, "/orders", filters)

    def get(
        self, order_code: str, *, wait_seconds: Optional[int] = None
    ) -> Answer[Order]:
        """Return one order.

        The service holds the answer until the status changes, at most ``wait_seconds``.

        Route: GET /orders/:order_code
        Errors: bad_request, order_not_found
        """
        return self._read(path_of("orders", order_code), wait_seconds)

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
        answer = self.wait(order, timeout_seconds=timeout_seconds, on_status=on_status)
        if answer.data["status"] != "Finished":
            raise UnsuccessfulError(
                f"the order {answer.data['order_code']}", answer.data
            )
        return answer

    def wait(
        self,
        order: Union[PlacedOrder, str],
        *,
        timeout_seconds: float = 600,
        on_status: Optional[OnStatus] = None,
    ) -> Answer[Order]:
        """Wait as :meth:`finished`, and return with every end: look at the status.

        Route: GET /orders/:order_code
        Errors: bad_request, order_not_found
        """
        code = order if isinstance(order, str) else order.order_code
        return wait_until_final(
            lambda wait_seconds: self.get(code, wait_seconds=wait_seconds),
            lambda status: status in _FINAL,
            timeout_seconds=timeout_seconds,
            check_after_seconds=None
            if isinstance(order, str)
            else order.check_after_seconds,
            on_status=on_status,
            clock=self._transport.clock,
        )
