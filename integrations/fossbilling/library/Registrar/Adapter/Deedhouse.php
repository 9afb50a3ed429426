<?php

declare(strict_types=1);

use Deedhouse\Panel\Names;
use Deedhouse\Panel\Phone;
use Deedhouse\Panel\Refusal;
use Deedhouse\Panel\Registration;
use Deedhouse\Panel\Renewal;
use Deedhouse\Panel\Session;

require_once __DIR__ . '/../../Deedhouse/autoload.php';

class Registrar_Adapter_Deedhouse extends Registrar_AdapterAbstract
{
    /** FOSSBilling has no state for a registration that is in progress, so its end is awaited for longer. */
    private const WAIT_SECONDS_DEFAULT = 45;
    private const NO_TRANSFER = 'Deedhouse does not take over names from other registrars.';
    private const NO_PRIVACY = 'Deedhouse has no privacy protection.';

    /** @var array<string, string> */
    private array $settings;

    /** @param array<string, mixed> $options */
    public function __construct($options)
    {
        foreach (['url' => 'URL of the API', 'apikey' => 'API key', 'apisecret' => 'API secret'] as $name => $label) {
            if (empty($options[$name])) {
                throw new Registrar_Exception("Deedhouse is not configured completely: the {$label} is missing.", null, 3001);
            }
        }
        $this->settings = array_map(strval(...), $options);
    }

    public static function getConfig(): array
    {
        $field = static fn (string $type, string $label, string $description, bool $isRequired): array => [
            $type,
            ['label' => $label, 'description' => $description, 'required' => $isRequired],
        ];
        return [
            'label' => 'Registers and manages names at a Deedhouse service',
            'form' => [
                'url' => $field('text', 'URL of the API', 'As your operator gave it, such as https://api.example.com/v1', true),
                'apikey' => $field('text', 'API key', '32 hex digits', true),
                'apisecret' => $field('password', 'API secret', 'It is used for signatures, and never sent', true),
                'panelname' => $field('text', 'Name of this FOSSBilling', 'Never change it. Default: fossbilling', false),
                'contactroles' => $field('text', 'Contacts of a registration', 'Default: registrant,admin,tech', false),
                'waitseconds' => $field('text', 'Seconds to wait for an order\'s end', 'Default: ' . self::WAIT_SECONDS_DEFAULT, false),
                'cafile' => $field('text', 'Certificate authority', 'The path of a PEM file, only for an authority of your operator\'s own', false),
            ],
        ];
    }

    public function isDomainAvailable(Registrar_Domain $domain): bool
    {
        return $this->run(static function (Session $session) use ($domain): bool {
            $found = $session->client->checkAvailability([$domain->getName()])->data[0] ?? [];
            if (($found['availability'] ?? '') === 'unknown') {
                throw new Refusal("The registry of {$domain->getName()} did not answer in time. Check the name again later.");
            }
            // FOSSBilling knows one price for a suffix.
            return $found['availability'] === 'available' && !isset($found['premium']);
        });
    }

    public function isDomaincanBeTransferred(Registrar_Domain $domain): bool
    {
        throw new Registrar_Exception(self::NO_TRANSFER);
    }

    public function transferDomain(Registrar_Domain $domain): bool
    {
        throw new Registrar_Exception(self::NO_TRANSFER);
    }

    public function registerDomain(Registrar_Domain $domain): bool
    {
        return $this->run(function (Session $session) use ($domain): bool {
            $registration = new Registration(
                $session,
                $this->entry($domain),
                $domain->getName(),
                $domain->getRegistrationPeriod() ?: null,
                $this->nameServers($domain),
                array_fill_keys($this->roles(), $this->contact($domain)),
                false,
                null,
                static fn (): bool => true,
            );
            if ($registration->complete()) {
                $this->requireRegistrant($session, $domain);
            }
            return true;
        });
    }

    public function renewDomain(Registrar_Domain $domain): bool
    {
        return $this->run(function (Session $session) use ($domain): bool {
            $paidFrom = $domain->getExpirationTime() ? date('Y-m-d', (int) $domain->getExpirationTime()) : '';
            $years = max(1, (int) $domain->getRegistrationPeriod());
            (new Renewal($session, $this->entry($domain), $domain->getName(), $years, $paidFrom))->complete();
            return true;
        });
    }

    public function deleteDomain(Registrar_Domain $domain): bool
    {
        return $this->run(static function (Session $session) use ($domain): bool {
            (new Names($session))->delete($domain->getName());
            return true;
        });
    }

    public function getDomainDetails(Registrar_Domain $domain): Registrar_Domain
    {
        return $this->run(static function (Session $session) use ($domain): Registrar_Domain {
            $found = $session->client->getDomain($domain->getName())->data ?? [];
            $hosts = [...(new Names($session))->hosts($found), null, null, null, null];
            $domain->setNs1($hosts[0])->setNs2($hosts[1])->setNs3($hosts[2])->setNs4($hosts[3]);
            $domain->setRegistrationTime(strtotime($found['registration_date']));
            $domain->setExpirationTime(strtotime($found['expiration_date']));
            $domain->setLocked($found['transfer_locked']);
            $domain->setPrivacyEnabled(false);
            $registrant = $session->client->getContacts($domain->getName())->data['registrant'] ?? null;
            if ($registrant !== null || $domain->getContactRegistrar() === null) {
                $domain->setContactRegistrar(self::shown($registrant ?? []));
            }
            return $domain;
        });
    }

    public function getEpp(Registrar_Domain $domain): string
    {
        return $this->run(static fn (Session $session): string => (new Names($session))->authCode($domain->getName()));
    }

    public function modifyNs(Registrar_Domain $domain): bool
    {
        return $this->run(function (Session $session) use ($domain): bool {
            (new Names($session))->setNameServers($domain->getName(), $this->nameServers($domain));
            return true;
        });
    }

    public function modifyContact(Registrar_Domain $domain): bool
    {
        return $this->run(function (Session $session) use ($domain): bool {
            (new Names($session))->setContacts($domain->getName(), ['registrant' => $this->contact($domain)]);
            return true;
        });
    }

    public function lock(Registrar_Domain $domain): bool
    {
        return $this->setLock($domain, true);
    }

    public function unlock(Registrar_Domain $domain): bool
    {
        return $this->setLock($domain, false);
    }

    public function enablePrivacyProtection(Registrar_Domain $domain): bool
    {
        throw new Registrar_Exception(self::NO_PRIVACY);
    }

    public function disablePrivacyProtection(Registrar_Domain $domain): bool
    {
        throw new Registrar_Exception(self::NO_PRIVACY);
    }

    private function setLock(Registrar_Domain $domain, bool $isLocked): bool
    {
        return $this->run(static function (Session $session) use ($domain, $isLocked): bool {
            (new Names($session))->lock($domain->getName(), $isLocked);
            return true;
        });
    }

    /**
     * @template T
     * @param Closure(Session): T $work
     * @return T
     */
    private function run(Closure $work): mixed
    {
        try {
            return $work(new Session(
                $this->settings['url'],
                $this->settings['apikey'],
                $this->settings['apisecret'],
                'fossbilling ' . ($this->settings['panelname'] ?? ''),
                $this->settings['cafile'] ?? null,
                ($this->settings['waitseconds'] ?? '') ?: self::WAIT_SECONDS_DEFAULT,
            ));
        } catch (Throwable $error) {
            throw new Registrar_Exception(Session::say($error));
        }
    }

    /** The order that is paid; without one, the name stands for it. */
    private function entry(Registrar_Domain $domain): string
    {
        return $this->_order === null ? $domain->getName() : (string) $this->_order->id;
    }

    /** FOSSBilling does not show an adapter its orders, so a name that was there before may be another customer's. */
    private function requireRegistrant(Session $session, Registrar_Domain $domain): void
    {
        $shown = $session->client->getContacts($domain->getName())->data['registrant']['email'] ?? null;
        if ($shown !== null && strcasecmp($shown, $this->contact($domain)['email'] ?? '') !== 0) {
            throw new Refusal("{$domain->getName()} is registered in this Deedhouse account already, for another registrant.");
        }
    }

    /** @return list<string> */
    private function roles(): array
    {
        $given = $this->settings['contactroles'] ?? '';
        return array_values(array_filter(array_map('trim', explode(',', $given === '' ? 'registrant,admin,tech' : $given))));
    }

    /** @return list<string> */
    private function nameServers(Registrar_Domain $domain): array
    {
        $hosts = [$domain->getNs1(), $domain->getNs2(), $domain->getNs3(), $domain->getNs4()];
        return array_values(array_filter(array_map(static fn ($host): string => trim((string) $host), $hosts)));
    }

    /** @return array<string, string> */
    private function contact(Registrar_Domain $domain): array
    {
        $contact = $domain->getContactRegistrar() ?? throw new Refusal("FOSSBilling gave no contact for {$domain->getName()}.");
        return array_filter([
            'first_name' => (string) $contact->getFirstName(),
            'last_name' => (string) $contact->getLastName(),
            'company_name' => (string) $contact->getCompany(),
            'email' => (string) $contact->getEmail(),
            'phone' => Phone::international((string) $contact->getTel(), (string) $contact->getTelCc()),
            'address' => trim((string) preg_replace('/\s+/', ' ', $contact->getAddress())),
            'postal_code' => (string) $contact->getZip(),
            'city' => (string) $contact->getCity(),
            'state' => (string) $contact->getState(),
            'country_code' => (string) $contact->getCountry(),
        ], static fn (string $value): bool => $value !== '');
    }

    /** @param array<string, mixed> $registrant */
    private static function shown(array $registrant): Registrar_Domain_Contact
    {
        [$code, $number] = [...explode('.', ltrim((string) ($registrant['phone'] ?? ''), '+'), 2), ''];
        $contact = new Registrar_Domain_Contact();
        $contact->setFirstName($registrant['first_name'] ?? '')->setLastName($registrant['last_name'] ?? '');
        $contact->setCompany($registrant['company_name'] ?? '')->setEmail($registrant['email'] ?? '');
        $contact->setTelCc($code)->setTel($number)->setAddress1($registrant['address'] ?? '');
        $contact->setZip($registrant['postal_code'] ?? '')->setCity($registrant['city'] ?? '');
        return $contact->setState($registrant['state'] ?? '')->setCountry($registrant['country_code'] ?? '');
    }
}
