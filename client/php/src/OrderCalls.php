<?php

declare(strict_types=1);

namespace Deedhouse;

/** Orders: how they ended, and lists of them. */
trait OrderCalls
{
    /**
     * Any order, of a registration or a registered name: GET /orders/<order_code>. The service holds the answer until the status changes,
     * at most `waitSeconds`.
     *
     * @throws ApiException bad_request, order_not_found
     */
    public function getOrder(string $orderCode, ?int $waitSeconds = null): Answer
    {
        return $this->transport->object(Transport::path('orders', $orderCode), waitSeconds: $waitSeconds);
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
        $code = $order instanceof PlacedOrder ? $order->orderCode : $order;
        $answer = Waiting::untilFinal(
            fn (int $waitSeconds): Answer => $this->getOrder($code, $waitSeconds),
            static fn (string $status): bool => in_array($status, ['Finished', 'Errors', 'FailedValidation', 'Cancelled'], true),
            $timeoutSeconds,
            $order instanceof PlacedOrder ? $order->checkAfterSeconds : null,
            $onStatus,
            $this->transport->clock,
        );
        return $answer->data['status'] === 'Finished' ? $answer : throw new UnsuccessfulException("the order {$code}", $answer->data);
    }

    /**
     * One page of orders, the newest first: GET /orders.
     *
     * @throws ApiException bad_request, invalid_paging_request
     */
    public function listOrders(
        ?string $domainName = null,
        ?string $kind = null,
        ?string $status = null,
        ?int $skip = null,
        ?int $take = null,
    ): Page {
        $filters = ['domain_name' => $domainName, 'kind' => $kind, 'status' => $status];
        return $this->transport->page('/orders', [...$filters, 'skip' => $skip, 'take' => $take]);
    }

    /**
     * Every order that the filters select, the newest first: GET /orders.
     *
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException bad_request
     */
    public function allOrders(?string $domainName = null, ?string $kind = null, ?string $status = null): \Generator
    {
        return $this->transport->all('/orders', ['domain_name' => $domainName, 'kind' => $kind, 'status' => $status]);
    }

    /**
     * One page of what happened to a name, the newest first: GET /domains/<domain_name>/history.
     *
     * @throws ApiException domain_not_found, domain_not_valid, invalid_paging_request
     */
    public function listDomainHistory(string $domainName, ?int $skip = null, ?int $take = null): Page
    {
        $path = Transport::path('domains', $domainName, 'history');
        return $this->transport->page($path, ['skip' => $skip, 'take' => $take]);
    }

    /**
     * Everything that happened to a name, the newest first: GET /domains/<domain_name>/history.
     *
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException domain_not_found, domain_not_valid
     */
    public function allDomainHistory(string $domainName): \Generator
    {
        return $this->transport->all(Transport::path('domains', $domainName, 'history'));
    }
}
