"""What two implementations of IDNA2008 that nobody here wrote make of names: python3-idna and libidn2.

Reads a JSON list of names, writes a JSON object: the oracles' versions, and for each name what each oracle answers,
{"name": its A-label form} or {"error": the oracle's words}, and whether the name has a character that is too new for
the tables of this Python. Names are mapped (UTS #46, non-transitional) and then held against IDNA2008 with STD3 rules.
"""

import ctypes
import json
import sys
import unicodedata

import idna

IDN2_NFC_INPUT = 1
IDN2_NONTRANSITIONAL = 8
IDN2_USE_STD3_ASCII_RULES = 32

libidn2 = ctypes.CDLL("libidn2.so.0")
libidn2.idn2_check_version.restype = ctypes.c_char_p
libidn2.idn2_strerror_name.restype = ctypes.c_char_p


class Libidn2Error(Exception):
    pass


def call_libidn2(function, *arguments):
    """Calls one of the functions whose last arguments are the place of the result and the flags."""
    *inputs, flags = arguments
    output = ctypes.c_char_p()
    code = function(*inputs, ctypes.byref(output), flags)
    if code != 0:
        raise Libidn2Error(libidn2.idn2_strerror_name(code).decode("ascii"))
    result = output.value
    libidn2.idn2_free(output)
    return result


def by_idna(name):
    try:
        ascii_form = idna.encode(name, uts46=True, std3_rules=True, transitional=False).decode("ascii").lower()
        # encode() takes A-labels on trust: RFC 5890 section 2.3.2.1 wants them to be the encoding of their U-label.
        if idna.encode(idna.decode(ascii_form)).decode("ascii") != ascii_form:
            return {"error": "not the encoding of its U-labels"}
        return {"name": ascii_form}
    except UnicodeError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def by_libidn2(name):
    """Maps the name as for a lookup, and holds each label of the outcome against the stricter rules of registration."""
    try:
        flags = IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT | IDN2_USE_STD3_ASCII_RULES
        ascii_form = call_libidn2(libidn2.idn2_to_ascii_8z, name.encode("utf-8"), flags).lower()
        for label in ascii_form.split(b"."):
            u_label = call_libidn2(libidn2.idn2_to_unicode_8z8z, label, 0)
            if u_label != label and call_libidn2(libidn2.idn2_register_u8, u_label, None, 0) != label:
                return {"error": "registers another label"}
        return {"name": ascii_form.decode("ascii")}
    except (Libidn2Error, UnicodeError) as error:
        return {"error": str(error)}


def is_new(character):
    """Not in Unicode yet for Python's tables, or a letter, mark or digit there that idna's tables refuse."""
    category = unicodedata.category(character)
    if category == "Cn":
        return True
    try:
        idna.uts46_remap(character, std3_rules=True)
        return False
    except UnicodeError:
        return category[0] in "LMN"


def judge(name):
    verdict = by_idna(name)
    return {"idna": verdict, "libidn2": by_libidn2(name), "isNew": "error" in verdict and has_new(name)}


def has_new(name):
    return any(is_new(character) for label in name.split(".") for character in label + decode_roughly(label))


def decode_roughly(label):
    try:
        return label[4:].encode("ascii").decode("punycode") if label.lower().startswith("xn--") else label
    except UnicodeError:
        return label


json.dump(
    {
        "versions": f"idna {idna.__version__} (Unicode {idna.idnadata.__version__}, Python's {unicodedata.unidata_version}), "
        f"libidn2 {libidn2.idn2_check_version(None).decode('ascii')}",
        "verdicts": [judge(name) for name in json.load(sys.stdin)],
    },
    sys.stdout,
)
