<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

/** Telephone numbers as people write them, and as registries want them (RFC 5733 §2.5): `+44.2079460001`. */
final class Phone
{
    /** The calling codes of one and of two digits; all others have three (ITU-T E.164). */
    private const SHORT_CODE = '/^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/';
    /**
     * Where a 0 at the beginning belongs to the number, also for callers from abroad: Burkina Faso, Côte d'Ivoire, Niger, Benin, the
     * Republic of the Congo, San Marino, Italy with the Vatican, and Norway. Everywhere else it is dialled within the country only.
     */
    private const KEEPS_ZERO = ['225', '226', '227', '229', '242', '378', '39', '47'];
    /** Longer prefixes for calls within a country that begin with 0: Hungary and Mexico. */
    private const TRUNK_PREFIXES = ['36' => '06', '52' => '01'];

    /**
     * @param string $number as it was entered: with its country's code (+44 20 …) or as it is dialled within the country (020 …)
     * @param string $callingCode of the country of a number without one, with or without its +
     * @return string as RFC 5733 writes it; a text that is no number, or whose country nobody named, stays as it is, and is refused
     */
    public static function international(string $number, string $callingCode = ''): string
    {
        $text = trim($number);
        if (preg_match('~^\+?[\d\s()./-]*\d[\d\s()./-]*$~D', $text) !== 1) {
            return $text;
        }
        $digits = self::digits($text);
        if (!str_starts_with($text, '+')) {
            $given = ltrim(self::digits($callingCode), '0');
            if ($given === '') {
                return $text;
            }
            $digits = str_starts_with($digits, "00{$given}") ? substr($digits, 2) : $given . $digits;
        }
        $code = preg_match(self::SHORT_CODE, $digits, $short) === 1 ? $short[0] : substr($digits, 0, 3);
        return "+{$code}." . self::withoutTrunkPrefix($code, substr($digits, strlen($code)));
    }

    private static function withoutTrunkPrefix(string $code, string $national): string
    {
        $prefix = self::TRUNK_PREFIXES[$code] ?? '0';
        $hasPrefix = str_starts_with($national, $prefix) && !in_array($code, self::KEEPS_ZERO, true);
        return $hasPrefix ? substr($national, strlen($prefix)) : $national;
    }

    private static function digits(string $text): string
    {
        return (string) preg_replace('/\D/', '', $text);
    }
}
