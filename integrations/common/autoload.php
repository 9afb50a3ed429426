<?php

declare(strict_types=1);

// Loads this folder's classes and those of the client library beside it.
spl_autoload_register(static function (string $class): void {
    $prefix = 'Deedhouse\\Panel\\';
    if (str_starts_with($class, $prefix)) {
        $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
require_once __DIR__ . '/client/autoload.php';
