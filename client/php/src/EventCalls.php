<?php

declare(strict_types=1);

namespace Deedhouse;

/** What has happened, and what the service makes of a signature. */
trait EventCalls
{
    /**
     * The next events, the oldest first: GET /events.
     *
     * @param ?string $after the id of an event, or the `next` of a page; without it, the list begins with the oldest event that is kept
     * @param ?list<string> $types types, or families such as `domain.*`
     * @throws ApiException bad_request, events_expired
     */
    public function listEvents(?string $after = null, ?array $types = null, ?int $take = null, ?int $waitSeconds = null): EventPage
    {
        $words = $types === null ? null : implode(',', $types);
        $query = $this->transport->query(['after' => $after, 'types' => $words, 'take' => $take]);
        return new EventPage($this->transport->send('GET', '/events', $query, waitSeconds: $waitSeconds));
    }

    /**
     * Every event, as it happens: GET /events. It ends only by an exception. Store the id of each event that you have handled, and give
     * it as `after` when your program starts again.
     *
     * @param ?list<string> $types
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException bad_request, events_expired
     */
    public function followEvents(?string $after = null, ?array $types = null): \Generator
    {
        for (;;) {
            $page = $this->listEvents($after, $types, waitSeconds: Waiting::HOLD_SECONDS_MAX);
            foreach ($page->data as $event) {
                yield $event;
            }
            $after = $page->next;
        }
    }

    /**
     * What the service builds from a request, and whether your key signed it: POST /signature-check.
     *
     * @param array<string, string> $headers
     * @throws ApiException bad_request
     */
    public function checkSignature(string $method, string $target, array $headers, ?string $body = null): Answer
    {
        $request = ['method' => $method, 'target' => $target, 'headers' => (object) $headers, 'body' => $body];
        $reply = $this->transport->send('POST', '/signature-check', body: $request);
        return new Answer($reply, $reply->object());
    }
}
