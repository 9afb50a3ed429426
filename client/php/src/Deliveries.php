<?php

declare(strict_types=1);

namespace Deedhouse;

/** What was sent to a webhook, and what became of it. */
final class Deliveries extends Resource
{
    /**
     * The newest first: GET /webhooks/<webhook_id>/deliveries.
     *
     * @param 'Pending'|'Delivered'|'Failed'|null $status
     * @throws ApiException bad_request, webhook_not_found
     */
    public function list(string $webhookId, ?string $status = null): Items
    {
        return new Items($this->transport, Transport::path('webhooks', $webhookId, 'deliveries'), ['status' => $status]);
    }

    /**
     * Sends an event again, with the same id: POST /webhooks/<webhook_id>/deliveries/<event_id>/resend.
     *
     * @throws ApiException webhook_delivery_not_found, webhook_disabled, webhook_not_found
     */
    public function resend(string $webhookId, string $eventId, ?string $idempotencyKey = null): Answer
    {
        return $this->write('POST', Transport::path('webhooks', $webhookId, 'deliveries', $eventId, 'resend'), $idempotencyKey);
    }
}
