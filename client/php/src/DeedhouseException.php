<?php

declare(strict_types=1);

namespace Deedhouse;

/** The parent of all errors of this library. */
class DeedhouseException extends \RuntimeException
{
}
