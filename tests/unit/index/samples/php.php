<?php

declare(strict_types=1);

namespace App\Mail;

use App\Transport;
use Psr\Log\LoggerInterface;

const RETRIES = 3;

/**
 * Sends messages.
 */
final class Mailer implements Sender
{
    private array $queue = [];

    public function __construct(private Transport $transport)
    {
    }

    /** Sends everything that waits. */
    #[Pure]
    public function flush(): int
    {
        foreach ($this->queue as $message) {
            $this->transport->send($message);
        }
        return count($this->queue);
    }
}

interface Sender
{
    public function flush(): int;
}

trait Retries
{
    protected int $left = RETRIES;
}

function send_later(Mailer $mailer): void
{
    $mailer->flush();
}

send_later(new Mailer());
