<?php

declare(strict_types=1);

namespace Deedhouse;

/** Addresses to which the service sends events. The calls need a key with the scope `webhooks:manage`. */
trait WebhookCalls
{
    /**
     * Makes a webhook: POST /webhooks. The answer has its `secret`, this once.
     *
     * @param ?list<string> $types types of events, or families such as `domain.*`
     * @throws ApiException bad_request
     */
    public function createWebhook(
        string $url,
        ?array $types = null,
        ?string $description = null,
        ?string $idempotencyKey = null,
    ): Answer {
        $body = ['url' => $url, 'types' => $types, 'description' => $description];
        return $this->changedWebhook('POST', '/webhooks', $idempotencyKey, $body);
    }

    /** Your webhooks: GET /webhooks. */
    public function listWebhooks(): Answer
    {
        return $this->transport->list('/webhooks');
    }

    /**
     * A webhook: GET /webhooks/<webhook_id>.
     *
     * @throws ApiException webhook_not_found
     */
    public function getWebhook(string $webhookId): Answer
    {
        return $this->transport->object(Transport::path('webhooks', $webhookId));
    }

    /**
     * Changes what is given: PUT /webhooks/<webhook_id>.
     *
     * @param ?list<string> $types an empty list means all
     * @throws ApiException bad_request, webhook_not_found
     */
    public function updateWebhook(
        string $webhookId,
        ?string $url = null,
        ?array $types = null,
        ?string $description = null,
        ?bool $enabled = null,
        ?string $idempotencyKey = null,
    ): Answer {
        $body = ['url' => $url, 'types' => $types, 'description' => $description, 'enabled' => $enabled];
        return $this->changedWebhook('PUT', Transport::path('webhooks', $webhookId), $idempotencyKey, $body);
    }

    /**
     * Deletes a webhook, with its deliveries: DELETE /webhooks/<webhook_id>.
     *
     * @throws ApiException webhook_not_found
     */
    public function deleteWebhook(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->transport->write('DELETE', Transport::path('webhooks', $webhookId), $idempotencyKey);
    }

    /**
     * Makes a new secret: POST /webhooks/<webhook_id>/secret. For a day, the old one signs, too.
     *
     * @throws ApiException webhook_not_found
     */
    public function rotateWebhookSecret(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->changedWebhook('POST', Transport::path('webhooks', $webhookId, 'secret'), $idempotencyKey, null);
    }

    /**
     * Sends an event of the type `webhook.test`: POST /webhooks/<webhook_id>/test. Its delivery shows the answer.
     *
     * @throws ApiException webhook_disabled, webhook_not_found
     */
    public function testWebhook(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->transport->write('POST', Transport::path('webhooks', $webhookId, 'test'), $idempotencyKey);
    }

    /**
     * One page of deliveries, the newest first: GET /webhooks/<webhook_id>/deliveries.
     *
     * @param 'Pending'|'Delivered'|'Failed'|null $status
     * @throws ApiException bad_request, invalid_paging_request, webhook_not_found
     */
    public function listWebhookDeliveries(string $webhookId, ?string $status = null, ?int $skip = null, ?int $take = null): Page
    {
        $path = Transport::path('webhooks', $webhookId, 'deliveries');
        return $this->transport->page($path, ['status' => $status, 'skip' => $skip, 'take' => $take]);
    }

    /**
     * Every delivery, the newest first: GET /webhooks/<webhook_id>/deliveries.
     *
     * @param 'Pending'|'Delivered'|'Failed'|null $status
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException bad_request, webhook_not_found
     */
    public function allWebhookDeliveries(string $webhookId, ?string $status = null): \Generator
    {
        return $this->transport->all(Transport::path('webhooks', $webhookId, 'deliveries'), ['status' => $status]);
    }

    /**
     * Sends an event again, with the same id: POST /webhooks/<webhook_id>/deliveries/<event_id>/resend.
     *
     * @throws ApiException webhook_delivery_not_found, webhook_disabled, webhook_not_found
     */
    public function resendWebhookDelivery(string $webhookId, string $eventId, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('webhooks', $webhookId, 'deliveries', $eventId, 'resend');
        return $this->transport->write('POST', $path, $idempotencyKey);
    }

    /** @param ?array<string, mixed> $body */
    private function changedWebhook(string $method, string $path, ?string $idempotencyKey, ?array $body): Answer
    {
        $reply = $this->transport->send($method, $path, body: $body, idempotencyKey: $idempotencyKey);
        return new Answer($reply, $reply->object());
    }
}
