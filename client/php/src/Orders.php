<?php

declare(strict_types=1);

namespace Deedhouse;

/** Orders, of registrations and of registered names. */
final class Orders extends Resource
{
    private const FINAL_STATUSES = ['Finished', 'Errors', 'FailedValidation', 'Cancelled'];

    /**
     * Every order that the filters select, the newest first: GET /orders.
     *
     * @throws ApiException bad_request
     */
    public function list(?string $domainName = null, ?string $kind = null, ?string $status = null): ExportableItems
    {
        $filters = ['domain_name' => $domainName, 'kind' => $kind, 'status' => $status];
        return new ExportableItems($this->transport, '/orders', $filters);
    }

    /**
     * One order: GET /orders/<order_code>. The service holds the answer until the status changes, at most `waitSeconds`.
     *
     * @throws ApiException bad_request, order_not_found
     */
    public function get(string $orderCode, ?int $waitSeconds = null): Answer
    {
        return $this->read(Transport::path('orders', $orderCode), $waitSeconds);
    }

    /**
     * Waits until an order, or the one with this code, is `Finished`. It survives temporary outages of the service.
     *
     * @param ?\Closure(Answer): void $onStatus called with the first status and each change
     * @throws UnsuccessfulException when it ends otherwise
     * @throws WaitTimeoutException when the time runs out
     * @throws ApiException bad_request, order_not_found
     */
    public function finished(PlacedOrder|string $order, float $timeoutSeconds = 600, ?\Closure $onStatus = null): Answer
    {
        $answer = $this->wait($order, $timeoutSeconds, $onStatus);
        $isFinished = $answer->data['status'] === 'Finished';
        return $isFinished ? $answer : throw new UnsuccessfulException("the order {$answer->data['order_code']}", $answer->data);
    }

    /**
     * Waits as `finished`, and returns with every end: look at the `status`.
     *
     * @param ?\Closure(Answer): void $onStatus
     * @throws WaitTimeoutException when the time runs out
     * @throws ApiException bad_request, order_not_found
     */
    public function wait(PlacedOrder|string $order, float $timeoutSeconds = 600, ?\Closure $onStatus = null): Answer
    {
        $code = $order instanceof PlacedOrder ? $order->orderCode : $order;
        return Waiting::untilFinal(
            fn (int $waitSeconds): Answer => $this->get($code, $waitSeconds),
            static fn (string $status): bool => in_array($status, self::FINAL_STATUSES, true),
            $timeoutSeconds,
            $order instanceof PlacedOrder ? $order->checkAfterSeconds : null,
            $onStatus,
            $this->transport->clock,
        );
    }
}
