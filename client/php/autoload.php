<?php

declare(strict_types=1);

// For programs without composer: loads the classes of this library when they are needed.
spl_autoload_register(static function (string $class): void {
    $prefix = 'Deedhouse\\';
    if (str_starts_with($class, $prefix)) {
        $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
