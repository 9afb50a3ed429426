<?php

// Contacts as WHMCS and as Deedhouse write them.

declare(strict_types=1);

use Deedhouse\Panel\Phone;
use Deedhouse\Panel\Refusal;

/** Deedhouse's roles by WHMCS' headings. */
const DEEDHOUSE_ROLES = ['Registrant' => 'registrant', 'Admin' => 'admin', 'Technical' => 'tech', 'Billing' => 'billing'];

/**
 * The labels of Deedhouse's fields. The first is the one of WHMCS' sample module, and is shown. The others are those that WHMCS fills
 * when a client chooses a contact of the account for a name: it sends all of them then, with equal values.
 */
const DEEDHOUSE_LABELS = [
    'first_name' => ['First Name'],
    'last_name' => ['Last Name'],
    'company_name' => ['Company Name', 'Organisation Name', 'Organization Name'],
    'email' => ['Email Address', 'Email'],
    'address' => ['Address 1', 'Address', 'Street', 'Street 1'],
    'address_2' => ['Address 2', 'Street 2'],
    'address_3' => ['Address 3', 'Street 3'],
    'city' => ['City'],
    'state' => ['State', 'County', 'Region'],
    'postal_code' => ['Postcode', 'ZIP Code', 'ZIP'],
    'country_code' => ['Country'],
    'phone' => ['Phone Number', 'Phone'],
    'fax' => ['Fax Number', 'Fax'],
];

/** Labels that Deedhouse has no field for, but that say something about one. */
const DEEDHOUSE_FULL_NAME = ['Full Name', 'Contact Name', 'Name'];
const DEEDHOUSE_CALLING_CODE = ['Phone Country Code'];
/** WHMCS' own note that it has put the calling code in front of the number. */
const DEEDHOUSE_NOTES = ['phone-normalised'];

/**
 * The contacts of an order, for the roles of the settings.
 *
 * @return array<string, array<string, string>>
 */
function deedhouse_contactsOfOrder(array $params): array
{
    $roles = array_filter(array_map('trim', explode(',', (string) ($params['ContactRoles'] ?? ''))));
    $contacts = [];
    foreach ($roles as $role) {
        $contacts[$role] = deedhouse_contactOfOrder($params, $role === 'registrant' ? '' : 'admin');
    }
    return $contacts;
}

/** @return array<string, string> */
function deedhouse_contactOfOrder(array $params, string $prefix): array
{
    $field = static fn (string $name): string => trim((string) ($params[$prefix . $name] ?? ''));
    return array_filter([
        'first_name' => $field('firstname'),
        'last_name' => $field('lastname'),
        'company_name' => $field('companyname'),
        'email' => $field('email'),
        'phone' => Phone::international($field('fullphonenumber') ?: $field('phonenumber'), $field('phonecc')),
        'address' => trim($field('address1') . ' ' . $field('address2')),
        'postal_code' => $field('postcode'),
        'city' => $field('city'),
        'state' => $field('state'),
        'country_code' => $field($prefix === '' ? 'countrycode' : 'country'),
    ], static fn (string $value): bool => $value !== '');
}

/** @param array<string, ?array<string, mixed>> $contacts as Deedhouse shows them */
function deedhouse_shownContacts(array $contacts): array
{
    $shown = [];
    foreach (DEEDHOUSE_ROLES as $heading => $role) {
        if (!isset($contacts[$role])) {
            continue;
        }
        foreach (DEEDHOUSE_LABELS as $field => [$label]) {
            // The second line is there to be filled in; Deedhouse has one line, which is shown as the first.
            if ($field !== 'address_3') {
                $shown[$heading][$label] = (string) ($contacts[$role][$field] ?? '');
            }
        }
    }
    return $shown;
}

/**
 * What a form of WHMCS asks for. Fields that the form does not have stay as they are.
 *
 * @param array<string, array<string, mixed>> $form
 * @param array<string, ?array<string, mixed>> $shown
 * @return array<string, array<string, mixed>> by role
 * @throws Refusal when a part of the form would be lost
 */
function deedhouse_changedContacts(array $form, array $shown): array
{
    $contacts = [];
    foreach ($form as $heading => $given) {
        $role = DEEDHOUSE_ROLES[$heading] ?? null;
        if ($role === null) {
            $known = implode(', ', array_keys(DEEDHOUSE_ROLES));
            throw new Refusal("Deedhouse has no contact \"{$heading}\": it has {$known}. Nothing was changed.");
        }
        $contacts[$role] = deedhouse_changedContact($heading, $given, $shown[$role] ?? []);
    }
    return $contacts;
}

/**
 * @param array<string, mixed> $given values by label
 * @param array<string, mixed> $contact as Deedhouse shows it
 * @return array<string, mixed>
 */
function deedhouse_changedContact(string $heading, array $given, array $contact): array
{
    $given = array_map(static fn (mixed $value): string => trim((string) $value), array_diff_key($given, array_flip(DEEDHOUSE_NOTES)));
    deedhouse_requireKnownLabels($heading, $given);
    $values = [];
    foreach (DEEDHOUSE_LABELS as $field => $labels) {
        $values[$field] = deedhouse_value($heading, $given, $labels);
    }
    [$values['first_name'], $values['last_name']] = deedhouse_names($heading, $given, $values);
    $code = deedhouse_value($heading, $given, DEEDHOUSE_CALLING_CODE) ?? '';
    foreach (['phone', 'fax'] as $field) {
        $values[$field] = $values[$field] === null ? null : Phone::international($values[$field], $code);
    }
    $lines = array_filter([$values['address'] ?? $contact['address'] ?? '', $values['address_2'] ?? '', $values['address_3'] ?? '']);
    $values['address'] = implode(' ', $lines);
    unset($values['address_2'], $values['address_3']);
    $changed = [...$contact, ...array_filter($values, is_string(...))];
    return array_filter($changed, static fn (mixed $value): bool => $value !== '');
}

/** @param array<string, string> $given */
function deedhouse_requireKnownLabels(string $heading, array $given): void
{
    $known = array_merge(DEEDHOUSE_FULL_NAME, DEEDHOUSE_CALLING_CODE, ...array_values(DEEDHOUSE_LABELS));
    // An empty field loses nothing: WHMCS sends a job title without a value.
    $unknown = array_keys(array_diff_key(array_filter($given, static fn (string $value): bool => $value !== ''), array_flip($known)));
    if ($unknown !== []) {
        $fields = implode(', ', array_map(static fn (array $labels): string => $labels[0], array_values(DEEDHOUSE_LABELS)));
        $labels = implode('", "', $unknown);
        throw new Refusal("{$heading}: Deedhouse has no field \"{$labels}\" for a contact. It has {$fields}. Nothing was changed.");
    }
}

/**
 * @param array<string, string> $given
 * @param list<string> $labels of one field
 * @return ?string null: the form has none of the labels
 */
function deedhouse_value(string $heading, array $given, array $labels): ?string
{
    $found = array_intersect_key($given, array_flip($labels));
    $values = array_values(array_unique(array_filter($found, static fn (string $value): bool => $value !== '')));
    if (count($values) > 1) {
        $names = implode('" and "', array_keys($found));
        throw new Refusal("{$heading}: \"{$names}\" are one field at Deedhouse, and have different values. Nothing was changed.");
    }
    return $found === [] ? null : $values[0] ?? '';
}

/**
 * A form with a full name only is divided after the first word.
 *
 * @param array<string, string> $given
 * @param array<string, ?string> $values by field
 * @return array{?string, ?string} first and last name
 */
function deedhouse_names(string $heading, array $given, array $values): array
{
    $full = deedhouse_value($heading, $given, DEEDHOUSE_FULL_NAME) ?? '';
    $first = $values['first_name'];
    $last = $values['last_name'];
    if ($full === '') {
        return [$first, $last];
    }
    if ($first === null && $last === null) {
        return array_pad(explode(' ', $full, 2), 2, '');
    }
    if (trim("{$first} {$last}") !== $full) {
        throw new Refusal("{$heading}: the full name differs from the first and last name. Nothing was changed.");
    }
    return [$first, $last];
}
