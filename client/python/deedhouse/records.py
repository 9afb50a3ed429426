"""The shapes of the API's JSON.

Times are ISO 8601 in UTC with milliseconds. A field of a class with ``total=False`` may
be missing, except those that its base class has.
"""

from typing import Any, Literal, Optional, TypedDict, Union


class _NameServerName(TypedDict):
    name: str


class NameServer(_NameServerName, total=False):
    """A host that a name delegates to."""

    #: IPv4 and IPv6; only for hosts below a name of the same registry.
    addresses: list[str]


#: A string is a host without addresses.
NameServers = list[Union[str, NameServer]]


class DsRecord(TypedDict):
    """A DS record (RFC 4034 section 5.1)."""

    key_tag: int
    algorithm: int
    digest_type: int
    #: Hexadecimal.
    digest: str


class _KeyRecord(TypedDict):
    flags: int
    algorithm: int
    #: Base64.
    public_key: str


class KeyRecord(_KeyRecord, total=False):
    """A DNSKEY record (RFC 4034 section 2.1)."""

    protocol: int


class ExtraField(TypedDict):
    """What only some registries ask for, such as a tax number."""

    name: str
    value: str


class _Contact(TypedDict):
    first_name: str
    last_name: str
    email: str
    #: With its country's code: ``+32.25550100``.
    phone: str
    address: str
    postal_code: str
    city: str
    #: ISO 3166-1, like ``BE``.
    country_code: str


class Contact(_Contact, total=False):
    """A person or company that a name names. One that is sent must be complete."""

    company_name: str
    fax: str
    state: str
    language_code: str
    enterprise_number: str
    extra_fields: list[ExtraField]


class Contacts(TypedDict, total=False):
    """Contacts by role. Null: there is none, or one that was not made here."""

    registrant: Optional[Contact]
    admin: Optional[Contact]
    tech: Optional[Contact]
    billing: Optional[Contact]


class _Transfer(TypedDict):
    status: str
    requested_at: str
    gaining_registrar: str


class Transfer(_Transfer, total=False):
    """The request of another registrar for a name of yours."""

    #: When the registry decides by itself, if it says so.
    answer_by: str


class _Domain(TypedDict):
    #: The lower-case A-label form.
    domain_name: str
    expiration_date: str
    will_renew: bool


class Domain(_Domain, total=False):
    """A name of the portfolio."""

    registration_date: str
    #: How the name is, in one word: ``active``, ``no_name_servers``, ``expiring``, …
    state: str
    status: str
    statuses: list[str]
    name_servers: list[NameServer]
    #: ``{"ds": […]}`` or ``{"keys": […]}``.
    dnssec: Optional[dict[str, Any]]
    transfer_locked: bool
    #: The codes of its orders that have not ended, the oldest first.
    changes_pending: list[str]
    #: While another registrar asks for the name.
    transfer: Transfer


class _Departure(TypedDict):
    domain_name: str
    left_at: str
    reason: Literal["transferred", "deleted", "expired"]


class Departure(_Departure, total=False):
    """A name that has left the portfolio."""

    gaining_registrar: str
    #: Until when the registry can restore the name.
    restorable_until: str


class Price(TypedDict):
    """The price of a premium name, for the whole period."""

    amount: str
    currency: str


class _Availability(TypedDict):
    domain_name: str
    #: ``unknown``: the registry did not say.
    availability: Literal["available", "taken", "blocked", "unknown"]


class Availability(_Availability, total=False):
    """Whether a name can be registered."""

    premium: Price
    #: For people.
    reason: str


class _RegistrationPlan(TypedDict):
    domain_name: str


class RegistrationPlan(_RegistrationPlan, total=False):
    """What a registration would do."""

    #: Your order for the name that is still open; the other fields are missing then.
    order_code: str
    years: int
    will_renew: bool
    #: Those of the registration itself.
    name_servers: list[NameServer]
    #: All of them, if an order after the registration has to set them.
    name_servers_later: list[NameServer]
    registrant: Contact
    contacts: Contacts
    price: Price


OrderStatus = Literal[
    "NotProvisioned",
    "Processing",
    "Pending",
    "Errors",
    "Finished",
    "FailedValidation",
    "Cancelled",
]


class _Order(TypedDict):
    order_code: str
    status: OrderStatus


class Order(_Order, total=False):
    """The state of an order."""

    #: ``create`` for a registration; otherwise what the order changes.
    kind: str
    domain_name: str
    created_at: str
    ended_at: str
    error_code: str
    error_text: str
    #: What you can do now.
    next: str


class _DomainEvent(TypedDict):
    at: str
    #: ``ordered``, or what happened otherwise, for example ``renewed`` or ``ended``.
    event: str


class DomainEvent(_DomainEvent, total=False):
    """An event in the life of a name."""

    #: More about it, for people.
    text: str
    order: Order


class AuthCode(TypedDict):
    """What another registrar needs to request a name's transfer."""

    domain_name: str
    auth_code: str
    expires_at: str


#: Why a transfer is rejected, in the terms of the ICANN Transfer Policy.
RejectReason = Literal[
    "fraud",
    "identity-disputed",
    "unpaid",
    "registrant-objects",
    "registered-recently",
    "transferred-recently",
    "registrant-changed-recently",
    "name-dispute",
    "transfer-dispute",
    "court-order",
]

RenewalStatus = Literal[
    "Scheduled", "Processing", "Attention", "Lapsing", "Renewed", "Ended"
]


class _Renewal(TypedDict):
    domain_name: str
    #: The end of the term.
    expiration_date: str
    will_renew: bool
    status: RenewalStatus
    #: When the name is renewed, if it is.
    due_at: str


class Renewal(_Renewal, total=False):
    """The renewal of a name at the end of a term."""

    #: The end of the next term, once it is ``Renewed``.
    renewed_until: str


HostingStatus = Literal["Provisioning", "Ready", "Failed", "Suspended"]


class _Ftp(TypedDict):
    host: str
    port: int
    username: str


class Ftp(_Ftp, total=False):
    """Where to log in."""

    #: False when logins are refused; missing otherwise.
    enabled: bool


class Web(TypedDict):
    """Where the site is."""

    url: str


class _Suspension(TypedDict):
    #: ``reseller``, which is you, or ``operator``. Each lifts only their own.
    by: Literal["reseller", "operator"]
    since: str


class Suspension(_Suspension, total=False):
    """Who has suspended an account."""

    #: Yours.
    reason: str


class _HostingAccount(TypedDict):
    identifier: str


class HostingAccount(_HostingAccount, total=False):
    """A hosting account; in a list it may have fewer fields."""

    servicepack_id: str
    servicepack_version: int
    status: HostingStatus
    created_at: str
    #: A requested change is not in effect yet.
    changes_pending: bool
    #: Missing when it is not suspended.
    suspensions: list[Suspension]
    #: Present when the account will be deleted.
    removal_requested_at: str
    ftp: Ftp
    web: Web
    disk_quota_bytes: int
    disk_used_bytes: int
    files_max: int
    files_used: int
    #: The traffic of its site in a calendar month; 0: unlimited.
    traffic_bytes_month: int
    #: Missing until it is counted.
    traffic_used_bytes: int
    host_names_max: int
    error_text: str


class _HostingEvent(TypedDict):
    at: str
    #: Stable; ``text`` is for people.
    event: str
    status: HostingStatus
    text: str


class HostingEvent(_HostingEvent, total=False):
    """An event in the life of an account."""

    #: For repeated attempts: their number, and the time of the last one.
    count: int
    last_at: str


class HostingHistory(TypedDict):
    """The history of an account, oldest first, and its next step."""

    identifier: str
    status: HostingStatus
    changes_pending: bool
    next: str
    history: list[HostingEvent]


class HostNameRecord(TypedDict):
    """The record that proves control of a host name."""

    name: str
    type: str
    value: str


class _HostName(TypedDict):
    host_name: str
    status: Literal["Waiting", "Proven"]
    record: HostNameRecord
    created_at: str


class HostName(_HostName, total=False):
    """A host name of an account's site."""

    proven_by: str
    #: Why it is not proven, or what was wrong at the last check.
    reason: str
    checked_at: str
    next_check_at: str


class _ServicePack(TypedDict):
    #: A string of digits.
    id: str
    name: str
    kind: str


class ServicePack(_ServicePack, total=False):
    """A kind of hosting account."""

    version: int
    disk_quota_bytes: int
    files_max: int
    ftp_sessions_max: int
    #: The traffic of a site in a calendar month; 0: unlimited.
    traffic_bytes_month: int
    host_names_max: int
    #: With ``ftp``, FTP login is possible.
    features: list[str]


class AccountKey(TypedDict):
    """The key that signs."""

    id: str
    label: str
    scopes: list[str]
    expires_at: Optional[str]
    #: Addresses and ranges that may use it; empty: all.
    allowed_addresses: list[str]


class AccountLimits(TypedDict, total=False):
    """What an account may do."""

    requests_per_minute: int
    paid_orders_per_day: int
    paid_orders_today: int
    #: Orders about names that set a value, and as many of the others.
    open_orders: int
    webhooks: int
    hosting_accounts: int
    hosting_disk_bytes: int


class Suffix(TypedDict, total=False):
    """A suffix under which names can be registered."""

    suffix: str
    years_min: int
    years_max: int
    years_default: int
    renewal_years: int
    #: Whether ``domains.renew`` can renew a name now.
    renews_on_request: bool
    #: For how many days a deleted name can be restored; 0: it cannot.
    restore_days: int
    contacts: list[str]
    name_servers_min: int
    name_servers_max: int
    dnssec: Literal["ds", "keys", "none"]
    idn: bool
    premium: bool
    locks_new_names: bool


class Account(TypedDict):
    """Who is calling."""

    #: No other account has this name.
    name: str
    kind: Literal["reseller", "plain"]
    key: AccountKey
    limits: AccountLimits
    suffixes: list[Suffix]


class Event(TypedDict):
    """What has happened to a name, an order or a hosting account."""

    #: Also a place: after it come the events that follow.
    id: str
    #: For example ``domain.registered``; ignore types that you do not know.
    type: str
    created_at: str
    #: By type.
    data: dict[str, Any]


class _Webhook(TypedDict):
    id: str
    url: str
    description: str
    enabled: bool
    #: Deliveries that are not made yet.
    pending: int
    created_at: str


class Webhook(_Webhook, total=False):
    """An address to which the service sends events."""

    types: list[str]
    disabled_reason: str
    #: Since when every delivery has failed.
    failing_since: str
    #: Only in the answer that made it.
    secret: str


class _WebhookDelivery(TypedDict):
    event_id: str
    type: str
    status: Literal["Pending", "Delivered", "Failed"]
    attempts: int
    created_at: str
    event: Event


class WebhookDelivery(_WebhookDelivery, total=False):
    """An event for a webhook, and what became of it."""

    next_attempt_at: str
    attempted_at: str
    duration_ms: int
    answer_status: int
    answer_text: str
    error_text: str


class ZoneNameServer(TypedDict, total=False):
    """What a name server has of a zone."""

    name: str
    serial: Optional[int]
    is_current: bool
    problem: str


class _Zone(TypedDict):
    domain_name: str
    state: Literal["Publishing", "Active", "Leaving", "Withdrawn"]
    serial: int
    #: Which name servers the registry showed last.
    delegation: Literal["ours", "partly", "elsewhere", "none"]
    served_at: Optional[str]
    name_servers: list[ZoneNameServer]
    record_count: int
    records_max: int


class Zone(_Zone, total=False):
    """The zone of a domain name."""

    problem: Literal["ds_left"]
    #: When a zone that is ``Leaving`` ends.
    until: str


class _RecordSetInput(TypedDict):
    #: Relative to the domain name; ``@`` is the name itself.
    subname: str
    type: str
    records: list[str]


class RecordSetInput(_RecordSetInput, total=False):
    """The records of one name and type, as they are sent."""

    ttl: int


class RecordSet(TypedDict):
    """The records of one name and type."""

    subname: str
    type: str
    ttl: int
    records: list[str]
    managed_by: Optional[Literal["hosting", "service"]]
    updated_at: str


class RecordsOfChange(TypedDict):
    """Records that a change has added or removed."""

    subname: str
    type: str
    ttl: int
    records: list[str]


class ZoneChange(TypedDict):
    """A change of a zone."""

    #: Also the zone's version.
    change_id: str
    serial: int
    at: str
    #: The API key; ``None``: no request.
    by: Optional[str]
    door: str
    status: Literal["Publishing", "Served"]
    served_at: Optional[str]
    added: list[RecordsOfChange]
    removed: list[RecordsOfChange]
