<?php

declare(strict_types=1);

namespace Deedhouse;

/** A list that the service offers as CSV, too. */
final class ExportableItems extends Items
{
    /**
     * Writes the whole list as CSV to a stream, as it arrives. A list that breaks off ends in a `NoAnswerException`: what was written is
     * then not the whole list. A stream that takes no more ends it in a `\RuntimeException`. It counts as ten requests.
     *
     * @param resource $to a stream that is open for writing
     * @throws ApiException those that its list names
     */
    public function csv($to): void
    {
        if (!is_resource($to) || get_resource_type($to) !== 'stream') {
            throw new \InvalidArgumentException('a list is written to a stream, such as fopen(\'domains.csv\', \'wb\')');
        }
        // Otherwise the first write would say so, after the service has counted ten requests.
        if (strpbrk(stream_get_meta_data($to)['mode'], 'waxc+') === false) {
            throw new \InvalidArgumentException('the stream is not open for writing: open it with the mode \'wb\'');
        }
        $receive = static function (string $part) use ($to): void {
            if (@fwrite($to, $part) !== strlen($part)) {
                throw new \RuntimeException('the list could not be written to the stream, so it is not whole');
            }
        };
        $reply = $this->transport->send('GET', $this->path, $this->transport->query($this->filters), receive: $receive);
        if (!Reply::isCsv($reply->headers)) {
            throw $reply->unexpected('CSV');
        }
    }
}
