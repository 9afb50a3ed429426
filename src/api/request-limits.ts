/** How large a request may be. */

export const bodyBytesMax = 64 * 1024;
/** A zone file, which replaces all records of a zone. */
export const zoneFileBytesMax = 256 * 1024;
export const headerBytesMax = 16 * 1024;
/** A signature is tried on up to 16 spellings of the target; RFC 9112 section 3 recommends 8,000 octets. */
export const targetBytesMax = 8_192;
/** A description of a request for `POST /signature-check`: the largest request, its body in base64. */
export const describedRequestBytesMax = 128 * 1024;
