"""Addresses to which the service sends events."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

from .answers import Answer, Page, object_answer
from .calls import Calls
from .records import Webhook, WebhookDelivery
from .transport import path_of


class WebhookCalls(Calls):
    """The calls for webhooks; they need a key with the scope ``webhooks:manage``."""

    def create_webhook(
        self,
        url: str,
        *,
        types: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Answer[Webhook]:
        """Make a webhook. The answer has its ``secret``, this once.

        ``types`` are types of events, or families such as ``domain.*``.

        Route: POST /webhooks
        Errors: bad_request
        """
        body = {"url": url, "types": types, "description": description}
        return self._changed("POST", "/webhooks", idempotency_key, body)

    def list_webhooks(self) -> Answer[list[Webhook]]:
        """Return your webhooks.

        Route: GET /webhooks
        """
        return self._list("/webhooks", {})

    def get_webhook(self, webhook_id: str) -> Answer[Webhook]:
        """Return a webhook.

        Route: GET /webhooks/:webhook_id
        Errors: webhook_not_found
        """
        return self._object(path_of("webhooks", webhook_id))

    def update_webhook(
        self,
        webhook_id: str,
        *,
        url: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
        enabled: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Answer[Webhook]:
        """Change what is given; an empty list of ``types`` means all.

        Route: PUT /webhooks/:webhook_id
        Errors: bad_request, webhook_not_found
        """
        body = {
            "url": url,
            "types": types,
            "description": description,
            "enabled": enabled,
        }
        path = path_of("webhooks", webhook_id)
        return self._changed("PUT", path, idempotency_key, body)

    def delete_webhook(
        self, webhook_id: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Delete a webhook, with its deliveries.

        Route: DELETE /webhooks/:webhook_id
        Errors: webhook_not_found
        """
        return self._write("DELETE", path_of("webhooks", webhook_id), idempotency_key)

    def rotate_webhook_secret(
        self, webhook_id: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[Webhook]:
        """Make a new secret; for a day, the old one signs, too.

        Route: POST /webhooks/:webhook_id/secret
        Errors: webhook_not_found
        """
        path = path_of("webhooks", webhook_id, "secret")
        return self._changed("POST", path, idempotency_key, None)

    def test_webhook(
        self, webhook_id: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Send an event of the type ``webhook.test``; its delivery shows the answer.

        Route: POST /webhooks/:webhook_id/test
        Errors: webhook_disabled, webhook_not_found
        """
        path = path_of("webhooks", webhook_id, "test")
        return self._write("POST", path, idempotency_key)

    def list_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        status: Optional[str] = None,
        skip: Optional[int] = None,
        take: Optional[int] = None,
    ) -> Page[WebhookDelivery]:
        """Return one page of deliveries, the newest first.

        Route: GET /webhooks/:webhook_id/deliveries
        Errors: bad_request, invalid_paging_request, webhook_not_found
        """
        path = path_of("webhooks", webhook_id, "deliveries")
        return self._page(path, {"status": status, "skip": skip, "take": take})

    def all_webhook_deliveries(
        self, webhook_id: str, *, status: Optional[str] = None
    ) -> Iterator[WebhookDelivery]:
        """Yield every delivery, the newest first.

        Route: GET /webhooks/:webhook_id/deliveries
        Errors: bad_request, webhook_not_found
        """
        return self._all(
            path_of("webhooks", webhook_id, "deliveries"), {"status": status}
        )

    def resend_webhook_delivery(
        self, webhook_id: str, event_id: str, *, idempotency_key: Optional[str] = None
    ) -> Answer[None]:
        """Send an event again, with the same id.

        Route: POST /webhooks/:webhook_id/deliveries/:event_id/resend
        Errors: webhook_delivery_not_found, webhook_disabled, webhook_not_found
        """
        path = path_of("webhooks", webhook_id, "deliveries", event_id, "resend")
        return self._write("POST", path, idempotency_key)

    def _changed(
        self,
        method: str,
        path: str,
        idempotency_key: Optional[str],
        body: Optional[dict[str, Any]],
    ) -> Answer[Any]:
        return object_answer(
            self._transport.send(
                method, path, body=body, idempotency_key=idempotency_key
            )
        )
