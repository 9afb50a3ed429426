/** Printed from openapi.json. After a change of the API: UPDATE_GOLDEN=1 npm test -- test/clients/openapi-types.test.ts */

export interface components {
  schemas: {
    Error: {
      /**
       * @description Stable; a later release can have more of them.
       * @enum {string}
       */
      error_code:
        | "invalid_paging_request"
        | "invalid_request"
        | "domain_not_valid"
        | "domain_not_found"
        | "domain_availability_blocked"
        | "domain_availability_lookuperror"
        | "domain_availability_taken"
        | "bad_request"
        | "service_unavailable"
        | "hostingaccount_invalid_identifier"
        | "hosting_already_exist"
        | "host_name_not_available"
        | "host_name_not_found"
        | "missing_reseller"
        | "missing_reseller_profile"
        | "invalid_service_pack"
        | "auth_authorization_header_invalid_format"
        | "authorization_hmac_invalid"
        | "authorization_timestamp_invalid"
        | "authorization_nonce_reused"
        | "authorization_ip_not_allowed"
        | "authorization_scope_missing"
        | "resource_not_found"
        | "order_not_found"
        | "method_not_allowed"
        | "request_timeout"
        | "domain_expiration_changed"
        | "dns_not_offered"
        | "domain_has_ds"
        | "zone_not_found"
        | "zone_exists"
        | "zone_changed"
        | "zone_leaving"
        | "zone_delegated"
        | "zone_change_not_found"
        | "record_not_found"
        | "record_managed"
        | "webhook_not_found"
        | "webhook_delivery_not_found"
        | "webhook_disabled"
        | "events_expired"
        | "domain_not_restorable"
        | "auth_code_not_found"
        | "auth_code_not_issued"
        | "domain_locked"
        | "domain_transfer_prohibited"
        | "domain_renewal_underway"
        | "hostingaccount_not_changeable"
        | "hostingaccount_suspended_by_operator"
        | "idempotency_in_progress"
        | "request_too_large"
        | "idempotency_key_reused"
        | "order_limit_reached"
        | "rate_limit_exceeded"
        | "request_header_too_large"
        | "internal_error";
      /** @description For people; it may change. */
      error_text: string;
      /** @description Of a 400 about fields. */
      validation_errors?: {
        /** @enum {string} */
        error_code: "missing" | "invalid";
        error_text: string;
        field: string;
      }[];
    };
    Domain: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      expiration_date: string;
      /**
       * @description Whether it renews at the end of its term.
       * @example true
       */
      will_renew: boolean;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      registration_date: string;
      /**
       * @description How the name is, in one word; docs/api.md explains each. A later release can have more.
       * @example no_name_servers
       * @enum {string}
       */
      state:
        | "being_deleted"
        | "pending_transfer"
        | "on_hold"
        | "expired"
        | "expiring"
        | "pending_registration"
        | "pending_renewal"
        | "pending_change"
        | "locked"
        | "no_name_servers"
        | "active";
      /**
       * @description One of RFC 5731 §2.3.
       * @example ok
       */
      status: string;
      name_servers: components["schemas"]["NameServer"][];
      /**
       * @description The records that the registry shows, as DS records or as keys; null without any.
       * @example null
       */
      dnssec:
        | {
            ds: {
              key_tag: number;
              algorithm: number;
              digest_type: number;
              digest: string;
            }[];
          }
        | {
            keys: {
              flags: number;
              protocol: number;
              algorithm: number;
              public_key: string;
            }[];
          }
        | null;
      statuses: string[];
      /** @example false */
      transfer_locked: boolean;
      transfer?: components["schemas"]["Transfer"];
    };
    NameServer: {
      /** @description An A-label name. */
      name: string;
      /** @description IPv4 and IPv6, of a host below a name of the same registry. */
      addresses?: string[];
    };
    /** @description Another registrar asks for the name. */
    Transfer: {
      /**
       * @description A trStatus of RFC 5731 §3.1.3.
       * @example pending
       */
      status: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      requested_at: string;
      /** @example other-registrar */
      gaining_registrar: string;
      /**
       * Format: date-time
       * @description When the registry decides by itself. Absent: it does not say.
       * @example 2027-11-21T01:39:27.687Z
       */
      answer_by?: string;
    };
    Availability: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /** @enum {string} */
      availability: "available" | "taken" | "blocked" | "unknown";
      premium?: components["schemas"]["Price"];
      /** @description For people. */
      reason?: string;
    };
    Price: {
      /** @example 100.00 */
      amount: string;
      /** @example EUR */
      currency: string;
    };
    DomainInFull: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      expiration_date: string;
      /**
       * @description Whether it renews at the end of its term.
       * @example true
       */
      will_renew: boolean;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      registration_date: string;
      /**
       * @description How the name is, in one word; docs/api.md explains each. A later release can have more.
       * @example no_name_servers
       * @enum {string}
       */
      state:
        | "being_deleted"
        | "pending_transfer"
        | "on_hold"
        | "expired"
        | "expiring"
        | "pending_registration"
        | "pending_renewal"
        | "pending_change"
        | "locked"
        | "no_name_servers"
        | "active";
      /**
       * @description One of RFC 5731 §2.3.
       * @example ok
       */
      status: string;
      name_servers: components["schemas"]["NameServer"][];
      /**
       * @description The records that the registry shows, as DS records or as keys; null without any.
       * @example null
       */
      dnssec:
        | {
            ds: {
              key_tag: number;
              algorithm: number;
              digest_type: number;
              digest: string;
            }[];
          }
        | {
            keys: {
              flags: number;
              protocol: number;
              algorithm: number;
              public_key: string;
            }[];
          }
        | null;
      statuses: string[];
      /** @example false */
      transfer_locked: boolean;
      transfer?: components["schemas"]["Transfer"];
      /** @description The codes of its orders that have not ended, the oldest first. */
      changes_pending: string[];
    };
    Order: {
      /** @example CHG-GGRR9DSX-7NH */
      order_code: string;
      /**
       * @description `create` is a registration.
       * @enum {string}
       */
      kind:
        | "create"
        | "auth-code"
        | "contacts"
        | "delete"
        | "dnssec"
        | "nameservers"
        | "renew"
        | "restore"
        | "transfer-answer"
        | "transfer-lock";
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /** @enum {string} */
      status: "NotProvisioned" | "Processing" | "Pending" | "Errors" | "Finished" | "FailedValidation" | "Cancelled";
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      ended_at?: string;
      /** @enum {string} */
      error_code?: "order_failed" | "order_refused" | "order_cancelled";
      /** @description It includes the registry's words. */
      error_text?: string;
      /** @description What you can do. */
      next?: string;
    };
    Departure: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      left_at: string;
      /** @enum {string} */
      reason: "transferred" | "deleted" | "expired";
      /**
       * @description The registrar that has the name, if the registry says it.
       * @example other-registrar
       */
      gaining_registrar?: string;
      /**
       * Format: date-time
       * @description Until then the registry can restore it.
       * @example 2027-11-21T01:39:27.687Z
       */
      restorable_until?: string;
    };
    Contact: {
      first_name: string;
      last_name: string;
      company_name?: string;
      email: string;
      /** @description With its country's code (E.164). */
      phone: string;
      fax?: string;
      address: string;
      postal_code: string;
      city: string;
      state?: string;
      /** @description ISO 3166-1. */
      country_code: string;
      language_code?: string;
      enterprise_number?: string;
      /** @description Fields that only some registries ask for, by name. */
      extra_fields?: {
        name: string;
        value: string;
      }[];
    };
    OtherContacts: {
      admin?: components["schemas"]["Contact"];
      tech?: components["schemas"]["Contact"];
      billing?: components["schemas"]["Contact"];
    };
    DryRun: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /** @example 1 */
      years: number;
      /** @example true */
      will_renew: boolean;
      name_servers: components["schemas"]["NameServer"][];
      /** @description The name servers that a later order has to set. */
      name_servers_later?: components["schemas"]["NameServer"][];
      registrant?: components["schemas"]["Contact"];
      contacts?: components["schemas"]["OtherContacts"];
      price?: components["schemas"]["Price"];
      /** @description Fields of the request that have no meaning here, and are ignored. */
      ignored?: string[];
    };
    DryRunOfOrdered: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /** @example REG-G43VRN9P-AV8 */
      order_code: string;
      /** @description Fields of the request that have no meaning here, and are ignored. */
      ignored?: string[];
    };
    RegisterDomainBody: {
      /** @description In any spelling. */
      domain_name: string;
      registrant?: components["schemas"]["Contact"];
      contacts?: components["schemas"]["OtherContacts"];
      /** @description By default the suffix's period. */
      years?: number;
      /** @description At most 13 hosts; a text is a host without addresses. */
      name_servers?: (string | components["schemas"]["NameServer"])[];
      /** @default true */
      will_renew?: boolean;
      /**
       * @description Every check is made; nothing is ordered.
       * @default false
       */
      dry_run?: boolean;
      /** @description The token with which the registry allocates the name (RFC 8495). */
      allocation_token?: string;
    };
    RegistrationStatus: {
      /** @example REG-G43VRN9P-AV8 */
      order_code: string;
      /** @enum {string} */
      status: "NotProvisioned" | "Processing" | "Pending" | "Errors" | "Finished" | "FailedValidation" | "Cancelled";
    };
    AuthCode: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /** @example f3Zk0v-aM2Qx9LpT */
      auth_code: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      expires_at: string;
    };
    Contacts: {
      /** @description Null: none that was made here for you. */
      registrant: components["schemas"]["Contact"] | null;
      /** @description Null: none that was made here for you. */
      admin: components["schemas"]["Contact"] | null;
      /** @description Null: none that was made here for you. */
      tech: components["schemas"]["Contact"] | null;
      /** @description Null: none that was made here for you. */
      billing: components["schemas"]["Contact"] | null;
    };
    SetContactsBody: {
      registrant?: components["schemas"]["Contact"];
      admin?: components["schemas"]["Contact"];
      tech?: components["schemas"]["Contact"];
      billing?: components["schemas"]["Contact"];
    };
    /** @description Either `ds` or `keys`. */
    SetDnssecBody: {
      ds?: {
        key_tag: number;
        algorithm: number;
        digest_type: number;
        digest: string;
      }[];
      keys?: {
        /** @enum {integer} */
        flags: 256 | 257;
        /** @constant */
        protocol?: 3;
        algorithm: number;
        public_key: string;
      }[];
    };
    SetNameServersBody: {
      /** @description At most 13 hosts; a text is a host without addresses. */
      name_servers: (string | components["schemas"]["NameServer"])[];
    };
    SetWillRenewBody: {
      /** @example false */
      will_renew: boolean;
    };
    RenewDomainBody: {
      /** @example 1 */
      years: number;
      /**
       * @description The domain's current one, or its UTC date: a request that is sent again never buys a second term.
       * @example 2027-11-21
       */
      expiration_date: string;
    };
    SetTransferLockBody: {
      /** @example true */
      transfer_locked: boolean;
    };
    DomainEvent: {
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      at: string;
      /**
       * @description A program ignores events that it does not know.
       * @example renewed
       * @example ordered
       */
      event: string;
      /** @example 2028-11-21T01:39:27.687Z */
      text?: string;
      order?: components["schemas"]["Order"];
    };
    AnswerTransferBody: {
      /** @enum {string} */
      answer: "approve" | "reject";
      /**
       * @description Of a reject only.
       * @enum {string}
       */
      reason?:
        | "fraud"
        | "identity-disputed"
        | "unpaid"
        | "registrant-objects"
        | "registered-recently"
        | "transferred-recently"
        | "registrant-changed-recently"
        | "name-dispute"
        | "transfer-dispute"
        | "court-order";
    };
    Zone: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /**
       * @description `Active`: the name servers have the newest version.
       * @enum {string}
       */
      state: "Publishing" | "Active" | "Leaving" | "Withdrawn";
      /** @example 1795215600 */
      serial: number;
      /**
       * @description Which name servers the registry showed last.
       * @enum {string}
       */
      delegation: "ours" | "partly" | "elsewhere" | "none";
      /**
       * @description `ds_left`: the registry shows DS records, but the zone is unsigned, so resolvers that validate refuse it.
       * @enum {string}
       */
      problem?: "ds_left";
      /**
       * Format: date-time
       * @description When a zone that is `Leaving` ends.
       * @example 2027-11-21T01:39:27.687Z
       */
      until?: string;
      /** @example null */
      served_at: string | null;
      name_servers: {
        /** @example ns1.dns-host.net */
        name: string;
        /** @example 1795215600 */
        serial: number | null;
        /** @example true */
        is_current: boolean;
        /** @description For people. */
        problem?: string;
      }[];
      /** @example 12 */
      record_count: number;
      /** @example 5000 */
      records_max: number;
    };
    RecordSetInput: {
      /**
       * @description Relative to the name; `@` is the name itself, `*` a wildcard.
       * @example www
       */
      subname: string;
      /** @example A */
      type: string;
      /**
       * @description Seconds, 60 to 86400; 3600 if left out.
       * @example 3600
       */
      ttl?: number;
      /**
       * @description As a zone file has them; names are absolute, with or without the last dot. TXT may be the raw text.
       * @example [
       *       "192.0.2.1"
       *     ]
       */
      records: string[];
    };
    ZoneChange: {
      /**
       * @description Also the zone's `etag`.
       * @example 7
       */
      change_id: string;
      /** @example 1795215600 */
      serial: number;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      at: string;
      /**
       * @description The API key; null: no request.
       * @example 5f2c9d4e8b7a4c1d9e3f6a0b2c4d6e8f
       */
      by: string | null;
      /**
       * @description Where it came from: `v1`, `v2`, or what happened to the name. A program ignores others.
       * @example v1
       */
      door: string;
      /** @enum {string} */
      status: "Publishing" | "Served";
      /** @example null */
      served_at: string | null;
      added: components["schemas"]["RecordsOfChange"][];
      removed: components["schemas"]["RecordsOfChange"][];
    };
    RecordsOfChange: {
      /**
       * @description Relative to the name; `@` is the name itself.
       * @example www
       */
      subname: string;
      /** @example A */
      type: string;
      /** @example 3600 */
      ttl: number;
      /**
       * @example [
       *       "192.0.2.1"
       *     ]
       */
      records: string[];
    };
    CreateZoneBody: {
      sets?: components["schemas"]["RecordSetInput"][];
      /**
       * @description Orders our name servers for the name, once they serve the zone.
       * @example true
       */
      delegate?: boolean;
      /** @description Brings back the zone that you deleted in the last 30 days. */
      restore?: boolean;
    };
    RecordSet: {
      /** @example www */
      subname: string;
      /** @example A */
      type: string;
      /** @example 3600 */
      ttl: number;
      /**
       * @example [
       *       "192.0.2.1"
       *     ]
       */
      records: string[];
      /**
       * @description Null: you. The others belong to the service, until a record of yours takes their place.
       * @example null
       */
      managed_by: ("hosting" | "service") | null;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      updated_at: string;
    };
    ZoneDifference: {
      added: components["schemas"]["RecordsOfChange"][];
      removed: components["schemas"]["RecordsOfChange"][];
    };
    ReplaceRecordsBody: components["schemas"]["RecordSetInput"][];
    ChangeRecordsBody: components["schemas"]["RecordSetInput"][];
    SetRecordSetBody: {
      /**
       * @description Seconds, 60 to 86400; 3600 if left out.
       * @example 3600
       */
      ttl?: number;
      /**
       * @description As a zone file has them; names are absolute, with or without the last dot. TXT may be the raw text.
       * @example [
       *       "192.0.2.1"
       *     ]
       */
      records: string[];
    };
    Renewal: {
      /**
       * @description The A-label form, in lower case.
       * @example hello.example
       */
      domain_name: string;
      /**
       * Format: date-time
       * @description The end of the renewal's term.
       * @example 2027-11-21T01:39:27.687Z
       */
      expiration_date: string;
      /** @example true */
      will_renew: boolean;
      /** @enum {string} */
      status: "Scheduled" | "Processing" | "Attention" | "Lapsing" | "Renewed" | "Ended";
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      due_at: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      renewed_until?: string;
    };
    HostingAccount: {
      /** @example hello.example */
      identifier: string;
      /** @example 14490 */
      servicepack_id: string;
      /** @example 1 */
      servicepack_version: number;
      /** @enum {string} */
      status: "Ready" | "Provisioning" | "Suspended" | "Failed";
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      ftp: {
        host?: string;
        port?: number;
        /** @example hello.example */
        username: string;
        /**
         * @description Logins are refused.
         * @constant
         */
        enabled?: false;
      };
      web: {
        /** @example http://hello.example.localhost:7480/ */
        url: string;
      };
      /** @example 100000000 */
      disk_quota_bytes: number;
      /** @example 71680 */
      disk_used_bytes: number;
      /** @example 10000 */
      files_max: number;
      /** @example 12 */
      files_used: number;
      /**
       * @description 0 means unlimited.
       * @example 50000000000
       */
      traffic_bytes_month: number;
      /** @description This month; missing until it is counted. */
      traffic_used_bytes?: number;
      /** @example 10 */
      host_names_max: number;
      /** @example false */
      changes_pending: boolean;
      /** @description What was requested, and by whom; missing when it is not suspended. */
      suspensions?: {
        /**
         * @description You, or the operator. Each lifts only the suspension that they requested.
         * @enum {string}
         */
        by: "reseller" | "operator";
        /**
         * Format: date-time
         * @example 2027-11-21T01:39:27.687Z
         */
        since: string;
        /**
         * @description Yours.
         * @example invoice 4711 is unpaid
         */
        reason?: string;
      }[];
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      removal_requested_at?: string;
      /** @description Why it failed. */
      error_text?: string;
    };
    CreateHostingAccountBody: {
      /** @example 14490 */
      servicepack_id: string;
      /**
       * @description A host name; usually the FTP user name.
       * @example hello.example
       */
      identifier: string;
      /**
       * Format: password
       * @description 8 to 64 characters, at most 72 bytes; not a common password, and without the identifier.
       * @example xkn3qjfYGmrM6jqfwuA4sQY4
       */
      password: string;
    };
    SetHostingPasswordBody: {
      /**
       * Format: password
       * @description 8 to 64 characters, at most 72 bytes; not a common password, and without the identifier.
       * @example xkn3qjfYGmrM6jqfwuA4sQY4
       */
      password: string;
    };
    SetHostingSuspensionBody: {
      /** @example true */
      suspended: boolean;
      /**
       * @description With `suspended: true`: why, in one line. You and the operator read it.
       * @example invoice 4711 is unpaid
       */
      reason?: string;
    };
    HostingHistory: {
      /** @example hello.example */
      identifier: string;
      /** @enum {string} */
      status: "Ready" | "Provisioning" | "Suspended" | "Failed";
      /** @example false */
      changes_pending: boolean;
      /**
       * @description For people.
       * @example nothing: it works
       */
      next: string;
      history: {
        /**
         * Format: date-time
         * @example 2027-11-21T01:39:27.687Z
         */
        at: string;
        /**
         * @description A program ignores events that it does not know.
         * @example requested
         */
        event: string;
        /** @enum {string} */
        status: "Ready" | "Provisioning" | "Suspended" | "Failed";
        /**
         * @description For people.
         * @example the account was ordered
         */
        text: string;
        /** @description How often it happened. */
        count?: number;
        /**
         * Format: date-time
         * @example 2027-11-21T01:39:27.687Z
         */
        last_at?: string;
      }[];
    };
    HostName: {
      /** @example www.hello.example */
      host_name: string;
      /** @enum {string} */
      status: "Waiting" | "Proven";
      /** @description The DNS record that proves the name. */
      record: {
        /** @example _deedhouse.www.hello.example */
        name: string;
        /** @constant */
        type: "TXT";
        /** @example deedhouse-site=0f3c5a7e91b24d6880aabbccddeeff00 */
        value: string;
      };
      /** @enum {string} */
      proven_by?: "dns" | "portfolio" | "identifier";
      /** @description Why it is not proven. For people. */
      reason?: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      checked_at?: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      next_check_at?: string;
    };
    Event: {
      /** @example evt_1_8142_77 */
      id: string;
      /**
       * @description A program ignores types that it does not know.
       * @example domain.registered
       */
      type: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      /** @description By type; see docs/events.md. A program ignores fields that it does not know. */
      data: unknown;
    };
    Webhook: {
      /** @example wh_5c1f0a9be2d34b7e8a61 */
      id: string;
      /** @example https://shop.example.com/deedhouse */
      url: string;
      /** @example the shop */
      description: string;
      /** @description Types and families; absent: all that it may get. */
      types?: string[];
      /**
       * @description Whether the URL has answered a test. Until then it gets no other events.
       * @example true
       */
      verified: boolean;
      /** @example true */
      enabled: boolean;
      /** @example Every delivery has failed for 3 days. */
      disabled_reason?: string;
      /**
       * Format: date-time
       * @description Since when every delivery has failed.
       * @example 2027-11-21T01:39:27.687Z
       */
      failing_since?: string;
      /**
       * @description Events that wait, of the types that this key may read. Of those without a delivery, the next 10000 are counted.
       * @example 0
       */
      pending: number;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
    };
    WebhookWithSecret: {
      /** @example wh_5c1f0a9be2d34b7e8a61 */
      id: string;
      /** @example https://shop.example.com/deedhouse */
      url: string;
      /** @example the shop */
      description: string;
      /** @description Types and families; absent: all that it may get. */
      types?: string[];
      /**
       * @description Whether the URL has answered a test. Until then it gets no other events.
       * @example true
       */
      verified: boolean;
      /** @example true */
      enabled: boolean;
      /** @example Every delivery has failed for 3 days. */
      disabled_reason?: string;
      /**
       * Format: date-time
       * @description Since when every delivery has failed.
       * @example 2027-11-21T01:39:27.687Z
       */
      failing_since?: string;
      /**
       * @description Events that wait, of the types that this key may read. Of those without a delivery, the next 10000 are counted.
       * @example 0
       */
      pending: number;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      /**
       * @description Signs the deliveries. It is shown this once; a repeat of the request has none.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=
       */
      secret?: string;
    };
    CreateWebhookBody: {
      /** @example https://shop.example.com/deedhouse */
      url: string;
      /** @example the shop */
      description?: string;
      /** @description An empty list: all. */
      types?: string[];
    };
    UpdateWebhookBody: {
      /** @example https://shop.example.com/deedhouse */
      url?: string;
      /** @example the shop */
      description?: string;
      /** @description An empty list: all. */
      types?: string[];
      /** @example true */
      enabled?: boolean;
    };
    WebhookDelivery: {
      /**
       * @description The webhook-id of every attempt.
       * @example evt_1_8142_77
       */
      event_id: string;
      /** @example domain.registered */
      type: string;
      /** @enum {string} */
      status: "Pending" | "Delivered" | "Failed";
      /** @example 1 */
      attempts: number;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description Not before; while it is pending.
       * @example 2027-11-21T01:39:27.687Z
       */
      next_attempt_at?: string;
      /**
       * Format: date-time
       * @example 2027-11-21T01:39:27.687Z
       */
      attempted_at?: string;
      /** @example 42 */
      duration_ms?: number;
      /** @example 200 */
      answer_status?: number;
      /**
       * @description The first KiB of a failure.
       * @example ok
       */
      answer_text?: string;
      /** @example There was no answer within 10 s. */
      error_text?: string;
      event: components["schemas"]["Event"];
    };
    ServicePack: {
      /**
       * @description Digits.
       * @example 14490
       */
      id: string;
      /** @example Small */
      name: string;
      /** @constant */
      kind: "hosting";
      /** @example 2 */
      version: number;
      /** @example 100000000 */
      disk_quota_bytes: number;
      /** @example 10000 */
      files_max: number;
      /** @example 4 */
      ftp_sessions_max: number;
      /**
       * @description 0 means unlimited.
       * @example 50000000000
       */
      traffic_bytes_month: number;
      /** @example 10 */
      host_names_max: number;
      features: string[];
    };
    OwnAccount: {
      /**
       * @description What the operator calls your account. No other has this name.
       * @example acme
       */
      name: string;
      /**
       * @description `plain` has no hosting accounts.
       * @example reseller
       * @enum {string}
       */
      kind: "reseller" | "plain";
      key: {
        /** @example 5f2c9d4e8b7a4c1d9e3f6a0b2c4d6e8f */
        id: string;
        /** @example shop */
        label: string;
        /**
         * @example [
         *       "domains:read",
         *       "domains:register"
         *     ]
         */
        scopes: (
          | "domains:read"
          | "domains:register"
          | "domains:renew"
          | "domains:update"
          | "domains:delete"
          | "domains:transfer"
          | "contacts:read"
          | "hosting:read"
          | "hosting:create"
          | "hosting:update"
          | "hosting:delete"
          | "servicepacks:read"
          | "webhooks:manage"
          | "dns:read"
          | "dns:update"
        )[];
        /** @example null */
        expires_at: string | null;
        /**
         * @description The addresses and ranges that may use the key; empty: all.
         * @example [
         *       "192.0.2.0/24"
         *     ]
         */
        allowed_addresses: string[];
      };
      limits: {
        /**
         * @description All keys of the account share it.
         * @example 100
         */
        requests_per_minute: number;
        /**
         * @description Registrations, renewals on request and restores in a day (UTC).
         * @example 1000
         */
        paid_orders_per_day: number;
        /**
         * @description How many of them were placed today.
         * @example 3
         */
        paid_orders_today: number;
        /**
         * @description Open orders about names that set a value; as many other open orders about names are allowed.
         * @example 10000
         */
        open_orders: number;
        /**
         * @description Webhooks of the account.
         * @example 10
         */
        webhooks: number;
        /**
         * @description Hosting accounts; 0 if the account can have none.
         * @example 1000
         */
        hosting_accounts: number;
        /**
         * @description The disk quotas of all hosting accounts together; 0 if it can have none.
         * @example 1000000000000
         */
        hosting_disk_bytes: number;
      };
      /** @description The suffixes under which names can be registered here. */
      suffixes: components["schemas"]["Suffix"][];
    };
    Suffix: {
      /** @example example */
      suffix: string;
      /**
       * @description The shortest registration.
       * @example 1
       */
      years_min: number;
      /**
       * @description The longest registration.
       * @example 10
       */
      years_max: number;
      /**
       * @description A registration that names no years.
       * @example 1
       */
      years_default: number;
      /**
       * @description The years by which a name renews at the end of its term.
       * @example 1
       */
      renewal_years: number;
      /**
       * @description Whether `POST …/renewals` can renew a name now.
       * @example true
       */
      renews_on_request: boolean;
      /**
       * @description For how many days a deleted name can be restored; 0: it cannot.
       * @example 30
       */
      restore_days: number;
      /**
       * @description The contacts that a name has. Your account's profile takes the place of those that you leave out.
       * @example [
       *       "registrant",
       *       "admin",
       *       "tech"
       *     ]
       */
      contacts: ("registrant" | "admin" | "tech" | "billing")[];
      /**
       * @description How many name servers a registration needs at least.
       * @example 0
       */
      name_servers_min: number;
      /**
       * @description How many it can have at most.
       * @example 13
       */
      name_servers_max: number;
      /**
       * @description The form in which the registry takes DNSSEC records.
       * @example ds
       * @enum {string}
       */
      dnssec: "ds" | "keys" | "none";
      /**
       * @description Whether names can have letters besides a-z, digits and hyphens.
       * @example false
       */
      idn: boolean;
      /**
       * @description Whether names at premium prices can be registered.
       * @example false
       */
      premium: boolean;
      /**
       * @description Whether a new name is locked against transfers.
       * @example true
       */
      locks_new_names: boolean;
    };
    SignatureExplanation: {
      /** @example null */
      form: string | null;
      /** @example null */
      api_key: string | null;
      /** @example null */
      nonce: string | null;
      clock: {
        /**
         * Format: date-time
         * @example 2027-11-21T01:39:27.687Z
         */
        server_time: string;
        /**
         * @description The same in unix seconds.
         * @example 1826761167
         */
        server_timestamp: number;
        /**
         * @description How far a timestamp may be from it.
         * @example 300
         */
        window_seconds: number;
        /**
         * @description The request's.
         * @example 1700000001
         */
        timestamp?: number;
        /**
         * @description How far the timestamp is ahead.
         * @example -126761166
         */
        skew_seconds?: number;
        inside_window?: boolean;
        accepted?: boolean;
      };
      body: {
        /**
         * @description The length of the body.
         * @example 0
         */
        bytes: number;
        /**
         * @description Base64, as the Authorization header's signature has it; empty without a body.
         * @example
         */
        md5: string;
        /**
         * @description Base64, for Content-Digest.
         * @example
         */
        sha256: string;
        /**
         * @description Base64, for Content-Digest.
         * @example
         */
        sha512: string;
      };
      /** @example null */
      authorization: {
        /** @description The first is what a new client signs; the others are what older clients sign. */
        strings_to_sign: {
          text: string;
          bytes: number;
        }[];
      } | null;
      /** @example null */
      message_signature: {
        /** @example null */
        signature_base: {
          text: string;
          bytes: number;
          base64: string;
        } | null;
        content_digests: {
          algorithm: string;
          sent: string;
          of_body: string;
          equal: boolean;
        }[];
      } | null;
      /** @example [] */
      problems: {
        header: string;
        problem: string;
      }[];
      /** @description Only if this call is signed: whether a key of your account signed the described request. */
      match?: {
        /** @description `active`, `revoked`, `expired`, or `unknown` if it is not a key of yours. */
        key: string;
        signed: boolean | null;
        /** @description Which of `strings_to_sign` was signed. */
        string_to_sign?: number;
        text: string;
      } | null;
    };
    CheckSignatureBody: {
      /** @description As it was sent, in upper case. */
      method: string;
      /** @description Path and query, exactly as they were sent. */
      target: string;
      headers:
        | {
            [key: string]: string;
          }
        | string[][];
      /** @description As text. */
      body?: string;
      /** @description As base64, for bytes that are no text. */
      body_base64?: string;
    };
  };
}
