<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

/** What a panel asked for cannot be done. The message is for the panel's operator. */
final class Refusal extends \RuntimeException
{
}
