<?php

// Contacts as WHMCS and as Deedhouse write them.

declare(strict_types=1);

/** Deedhouse's roles by WHMCS' headings. */
const DEEDHOUSE_ROLES = ['Registrant' => 'registrant', 'Admin' => 'admin', 'Technical' => 'tech', 'Billing' => 'billing'];

/** Deedhouse's fields by WHMCS' labels. */
const DEEDHOUSE_FIELDS = [
    'First Name' => 'first_name',
    'Last Name' => 'last_name',
    'Company Name' => 'company_name',
    'Email Address' => 'email',
    'Address' => 'address',
    'City' => 'city',
    'State' => 'state',
    'Postcode' => 'postal_code',
    'Country' => 'country_code',
    'Phone Number' => 'phone',
    'Fax Number' => 'fax',
];

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
    $country = $prefix === '' ? $field('countrycode') : $field('country');
    return array_filter([
        'first_name' => $field('firstname'),
        'last_name' => $field('lastname'),
        'company_name' => $field('companyname'),
        'email' => $field('email'),
        'phone' => $field('fullphonenumber'),
        'address' => trim($field('address1') . ' ' . $field('address2')),
        'postal_code' => $field('postcode'),
        'city' => $field('city'),
        'state' => $field('state'),
        'country_code' => $country,
    ]);
}

/** @param array<string, ?array<string, mixed>> $contacts as Deedhouse shows them */
function deedhouse_shownContacts(array $contacts): array
{
    $shown = [];
    foreach (DEEDHOUSE_ROLES as $heading => $role) {
        if (!isset($contacts[$role])) {
            continue;
        }
        foreach (DEEDHOUSE_FIELDS as $label => $field) {
            $shown[$heading][$label] = (string) ($contacts[$role][$field] ?? '');
        }
    }
    return $shown;
}

/**
 * What a form of WHMCS asks for. Fields that the form does not have stay as they are.
 *
 * @param array<string, array<string, string>> $form
 * @param array<string, ?array<string, mixed>> $shown
 * @return array<string, array<string, mixed>>
 */
function deedhouse_changedContacts(array $form, array $shown): array
{
    $contacts = [];
    foreach (DEEDHOUSE_ROLES as $heading => $role) {
        if (!isset($form[$heading])) {
            continue;
        }
        $contact = $shown[$role] ?? [];
        foreach (DEEDHOUSE_FIELDS as $label => $field) {
            if (isset($form[$heading][$label])) {
                $contact[$field] = trim($form[$heading][$label]);
            }
        }
        $code = trim($form[$heading]['Phone Country Code'] ?? '', '+ ');
        if ($code !== '' && !str_starts_with($contact['phone'] ?? '+', '+')) {
            $contact['phone'] = "+{$code}." . preg_replace('/\D/', '', $contact['phone']);
        }
        $contacts[$role] = array_filter($contact, static fn ($value): bool => $value !== '');
    }
    return $contacts;
}
