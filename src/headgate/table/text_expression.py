"""The functions of expressions that work on texts: case, parts, patterns."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.operand import Operand


def _given(*arguments: Any) -> tuple[Any, ...]:
    """Return the arguments before the first that is left out."""
    return arguments[: next((at for at, own in enumerate(arguments) if own is None), len(arguments))]


class TextExpression(Operand):
    """Functions of texts. Positions begin at 1 and are in characters. NULL for NULL, unless they say otherwise."""

    __slots__ = ()

    @property
    def char_length(self) -> Self:
        """The number of characters."""
        return self._call("char_length")

    @property
    def upper_case(self) -> Self:
        """The text in upper case."""
        return self._call("upper_case")

    @property
    def lower_case(self) -> Self:
        """The text in lower case."""
        return self._call("lower_case")

    @property
    def init_cap(self) -> Self:
        """The text with each word's first letter in upper case, the rest in lower case.

        A word consists of the letters A to Z and digits. Other letters end a word and do not change, as in Flink.
        """
        return self._call("init_cap")

    def trim(self, character: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at both ends."""
        return self._call("trim", *_given(character))

    def trim_leading(self, character: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at its beginning."""
        return self._call("trim_leading", *_given(character))

    def trim_trailing(self, character: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at its end."""
        return self._call("trim_trailing", *_given(character))

    def ltrim(self, trim_str: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at its beginning."""
        return self._call("ltrim", *_given(trim_str))

    def rtrim(self, trim_str: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at its end."""
        return self._call("rtrim", *_given(trim_str))

    def btrim(self, trim_str: Any = None) -> Self:
        """Return the text without spaces, or without the given characters, at both ends."""
        return self._call("btrim", *_given(trim_str))

    def lpad(self, length: Any, pad: Any) -> Self:
        """Fill the text with `pad` at its beginning up to `length` characters; a longer text is cut to `length`.

        NULL if `length` is negative or `pad` is empty.
        """
        return self._call("lpad", length, pad)

    def rpad(self, length: Any, pad: Any) -> Self:
        """Fill the text with `pad` at its end up to `length` characters; a longer text is cut to `length`.

        NULL if `length` is negative or `pad` is empty.
        """
        return self._call("rpad", length, pad)

    def substring(self, begin_index: Any, length: Any = None) -> Self:
        """Return `length` characters, by default all, from a position on. A negative position counts from the end.

        Empty if the position is outside of the text; NULL if `length` is negative.
        """
        return self._call("substring", *_given(begin_index, length))

    def substr(self, begin_index: Any, length: Any = None) -> Self:
        """Return the same as `substring`."""
        return self._call("substr", *_given(begin_index, length))

    def left(self, length: Any) -> Self:
        """Return the first characters; an empty text if `length` is negative."""
        return self._call("left", length)

    def right(self, length: Any) -> Self:
        """Return the last characters; an empty text if `length` is negative."""
        return self._call("right", length)

    def repeat(self, n: Any) -> Self:
        """Return the text `n` times."""
        return self._call("repeat", n)

    def replace(self, search: Any = None, replacement: Any = None) -> Self:
        """Return the text with every occurrence of `search` replaced."""
        return self._call("replace", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Self:
        """Replace each character of `from_str` by the one at its place in `to_str`; if there is none, remove it."""
        return self._call("translate", from_str, to_str)

    @property
    def reverse(self) -> Self:
        """The characters in reverse order."""
        return self._call("reverse")

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Self:
        """Replace `length` characters from a position on by `new_string`. The default is the length of `new_string`."""
        return self._call("overlay", *_given(new_string, starting, length))

    def position(self, haystack: Any = None) -> Self:
        """Return the position of this text in another text; 0 if it is not there."""
        return self._call("position", haystack)

    def instr(self, s: Any) -> Self:
        """Return the position of `s` in this text; 0 if it is not there."""
        return self._call("instr", s)

    def locate(self, s: Any, pos: Any = None) -> Self:
        """Return the position of this text in `s`, at or after the position `pos`; 0 if it is not there."""
        return self._call("locate", *_given(s, pos))

    def starts_with(self, start_expr: Any) -> Self:
        """Whether the text, or the bytes, begin with the argument."""
        return self._call("starts_with", start_expr)

    def ends_with(self, end_expr: Any) -> Self:
        """Whether the text, or the bytes, end with the argument."""
        return self._call("ends_with", end_expr)

    def split(self, delimiter: Any) -> Self:
        """Return an ARRAY of the parts between delimiters; of all characters if the delimiter is empty."""
        return self._call("split", delimiter)

    def split_index(self, separator: Any, index: Any) -> Self:
        """Return the part between separators with this index, from 0; NULL if there is none."""
        return self._call("split_index", separator, index)

    def elt(self, expr: Any, *exprs: Any) -> Self:
        """Return the argument at the index, from 1, that is this integer; NULL if there is none."""
        return self._call("elt", expr, *exprs)

    @property
    def ascii(self) -> Self:
        """The code of the first character, as a TINYINT; 0 for an empty text."""
        return self._call("ascii")

    @property
    def chr(self) -> Self:
        """The character with the code in the lowest eight bits of this integer."""
        return self._call("chr")

    def like(self, pattern: Any = None, escape: Any = None) -> Self:
        """Whether the whole text matches a pattern, in which `_` is a character and `%` any text.

        After the character `escape`, by default a backslash, both are ordinary characters.
        """
        return self._call("like", *_given(pattern, escape))

    def similar(self, pattern: Any = None) -> Self:
        """Whether the whole text matches a regular expression of SQL, with `_` and `%` as in `like`."""
        return self._call("similar", pattern)

    def regexp(self, regex: Any) -> Self:
        """Whether a part of the text matches a regular expression of Java; false for an empty one."""
        return self._call("regexp", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Self:
        """Return the text with every part that matches the regular expression replaced."""
        return self._call("regexp_replace", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Self:
        """Return the first part that matches, or one group of it; NULL if no part matches."""
        return self._call("regexp_extract", *_given(regex, extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Self:
        """Return an ARRAY with one group of each part that matches, by default group 1. Group 0 is the whole part."""
        return self._call("regexp_extract_all", *_given(regex, extract_index))

    def regexp_count(self, regex: Any) -> Self:
        """Return how many parts match."""
        return self._call("regexp_count", regex)

    def regexp_instr(self, regex: Any) -> Self:
        """Return the position of the first part that matches; 0 if none does."""
        return self._call("regexp_instr", regex)

    def regexp_substr(self, regex: Any) -> Self:
        """Return the first part that matches; NULL if none does."""
        return self._call("regexp_substr", regex)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Self:
        """Return a MAP of keys and values from texts such as `a=1,b=2`. The delimiters are regular expressions."""
        return self._call("str_to_map", *_given(list_delimiter, key_value_delimiter))

    def encode(self, charset: Any) -> Self:
        """Return the text as bytes in a character set, such as `UTF-8`, `ISO-8859-1` or `UTF-16`."""
        return self._call("encode", charset)

    def decode(self, charset: Any) -> Self:
        """Return the text of bytes in a character set."""
        return self._call("decode", charset)

    @property
    def to_base64(self) -> Self:
        """The text in base64."""
        return self._call("to_base64")

    @property
    def from_base64(self) -> Self:
        """The text of its base64 form. A text that is no base64 fails the job."""
        return self._call("from_base64")

    def url_encode(self) -> Self:
        """Return the text as a part of a URL: `a b` as `a+b`."""
        return self._call("url_encode")

    def url_decode(self) -> Self:
        """Return the text of its form in a URL: `a+b` as `a b`. NULL if the form is not valid."""
        return self._call("url_decode")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Self:
        """Return a part of the URL, or the value of a key of its query; NULL if the text is no URL or has no such part.

        Parts are HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE and USERINFO.
        """
        return self._call("parse_url", *_given(part_to_extract, key))

    @property
    def md5(self) -> Self:
        """The MD5 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("md5")

    @property
    def sha1(self) -> Self:
        """The SHA-1 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("sha1")

    @property
    def sha224(self) -> Self:
        """The SHA-224 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("sha224")

    @property
    def sha256(self) -> Self:
        """The SHA-256 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("sha256")

    @property
    def sha384(self) -> Self:
        """The SHA-384 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("sha384")

    @property
    def sha512(self) -> Self:
        """The SHA-512 digest of the text in UTF-8, in hexadecimal digits."""
        return self._call("sha512")

    def sha2(self, hash_length: Any) -> Self:
        """Return the digest with 224, 256, 384 or 512 bits."""
        return self._call("sha2", hash_length)

    def printf(self, *obj: Any) -> Self:
        """Return the text with the values in place of directives such as `%d`, as Java's formatter writes them.

        NULL if the format is not valid, or does not fit the values.
        """
        return self._call("printf", *obj)
