<?php

declare(strict_types=1);

namespace Deedhouse;

/** Addresses to which the service sends events. The calls need a key with the scope `webhooks:manage`. */
final class Webhooks extends Resource
{
    public readonly Deliveries $deliveries;

    public function __construct(Transport $transport)
    {
        parent::__construct($transport);
        $this->deliveries = new Deliveries($transport);
    }

    /** Your webhooks: GET /webhooks. */
    public function list(): Items
    {
        return new Items($this->transport, '/webhooks', isWhole: true);
    }

    /**
     * A webhook: GET /webhooks/<webhook_id>.
     *
     * @throws ApiException webhook_not_found
     */
    public function get(string $webhookId): Answer
    {
        return $this->read(Transport::path('webhooks', $webhookId));
    }

    /**
     * Makes a webhook: POST /webhooks. The answer has its `secret`, this once.
     *
     * @param ?list<string> $types types of events, or families such as `domain.*`
     * @throws ApiException bad_request
     */
    public function create(string $url, ?array $types = null, ?string $description = null, ?string $idempotencyKey = null): Answer
    {
        return $this->changed('POST', '/webhooks', $idempotencyKey, ['url' => $url, 'types' => $types, 'description' => $description]);
    }

    /**
     * Changes what is given: PUT /webhooks/<webhook_id>.
     *
     * @param ?list<string> $types an empty list means all
     * @throws ApiException bad_request, webhook_not_found
     */
    public function update(
        string $webhookId,
        ?string $url = null,
        ?array $types = null,
        ?string $description = null,
        ?bool $enabled = null,
        ?string $idempotencyKey = null,
    ): Answer {
        $body = ['url' => $url, 'types' => $types, 'description' => $description, 'enabled' => $enabled];
        return $this->changed('PUT', Transport::path('webhooks', $webhookId), $idempotencyKey, $body);
    }

    /**
     * Deletes a webhook, with its deliveries: DELETE /webhooks/<webhook_id>.
     *
     * @throws ApiException webhook_not_found
     */
    public function delete(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->write('DELETE', Transport::path('webhooks', $webhookId), $idempotencyKey);
    }

    /**
     * Makes a new secret: POST /webhooks/<webhook_id>/secret. For a day, the old one signs, too.
     *
     * @throws ApiException webhook_not_found
     */
    public function rotateSecret(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->changed('POST', Transport::path('webhooks', $webhookId, 'secret'), $idempotencyKey, null);
    }

    /**
     * Sends an event of the type `webhook.test`: POST /webhooks/<webhook_id>/test. Its delivery shows the answer.
     *
     * @throws ApiException webhook_disabled, webhook_not_found
     */
    public function test(string $webhookId, ?string $idempotencyKey = null): Answer
    {
        return $this->write('POST', Transport::path('webhooks', $webhookId, 'test'), $idempotencyKey);
    }

    /** @param ?array<string, mixed> $body */
    private function changed(string $method, string $path, ?string $idempotencyKey, ?array $body): Answer
    {
        $reply = $this->transport->send($method, $path, body: $body, idempotencyKey: $idempotencyKey);
        return new Answer($reply, $reply->object());
    }
}
