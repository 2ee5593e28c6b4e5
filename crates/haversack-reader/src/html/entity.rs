//! Decodes the entities of HTML: `&amp;`, `&#8364;`, and the old ones that need no semicolon.

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

/// Names that browsers accept without a semicolon, for compatibility with the first browsers.
const WITHOUT_SEMICOLON: &[&str] = &[
    "AElig", "AMP", "Aacute", "Acirc", "Agrave", "Aring", "Atilde", "Auml", "COPY", "Ccedil",
    "ETH", "Eacute", "Ecirc", "Egrave", "Euml", "GT", "Iacute", "Icirc", "Igrave", "Iuml", "LT",
    "Ntilde", "Oacute", "Ocirc", "Ograve", "Oslash", "Otilde", "Ouml", "QUOT", "REG", "THORN",
    "Uacute", "Ucirc", "Ugrave", "Uuml", "Yacute", "aacute", "acirc", "acute", "aelig", "agrave",
    "amp", "aring", "atilde", "auml", "brvbar", "ccedil", "cedil", "cent", "copy", "curren", "deg",
    "divide", "eacute", "ecirc", "egrave", "eth", "euml", "frac12", "frac14", "frac34", "gt",
    "iacute", "icirc", "iexcl", "igrave", "iquest", "iuml", "laquo", "lt", "macr", "micro",
    "middot", "nbsp", "not", "ntilde", "oacute", "ocirc", "ograve", "ordf", "ordm", "oslash",
    "otilde", "ouml", "para", "plusmn", "pound", "quot", "raquo", "reg", "sect", "shy", "sup1",
    "sup2", "sup3", "szlig", "thorn", "times", "uacute", "ucirc", "ugrave", "uml", "uuml",
    "yacute", "yen", "yuml",
];

/// The longest name of an entity.
const NAME_BYTES_MAX: usize = 32;

/// Decodes the entities of a text.
pub(crate) fn decode_text(text: &str) -> Cow<'_, str> {
    decode(text, false)
}

/// Decodes the entities of an attribute, where `&copy=` in an address is none.
pub(crate) fn decode_attribute(value: &str) -> Cow<'_, str> {
    decode(value, true)
}

fn decode(text: &str, is_attribute: bool) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return Cow::Borrowed(text) };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let length = match after.strip_prefix('#') {
            Some(number) => decode_number(number, &mut decoded).map(|length| length + 1),
            None => decode_name(after, is_attribute, &mut decoded),
        };
        if length.is_none() {
            decoded.push('&');
        }
        rest = &after[length.unwrap_or_default()..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Decodes what follows `&#` and gives its length.
fn decode_number(text: &str, decoded: &mut String) -> Option<usize> {
    let (radix, skip) = if text.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let digits = text[skip..].bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let end = skip + digits;
    // Too many digits for a number are no character either.
    let number = match digits {
        0 => return None,
        _ => u32::from_str_radix(&text[skip..end], radix).unwrap_or(u32::MAX),
    };
    decoded.push(character_of(number));
    Some(end + usize::from(text[end..].starts_with(';')))
}

/// The character of a number. The C1 controls mean Windows-1252, as pages once were written.
fn character_of(number: u32) -> char {
    match u8::try_from(number) {
        Ok(0) => char::REPLACEMENT_CHARACTER,
        Ok(byte @ 0x80..=0x9f) => {
            let bytes = [byte];
            let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
            text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// Decodes a name after `&` and gives its length.
fn decode_name(text: &str, is_attribute: bool, decoded: &mut String) -> Option<usize> {
    let length = text.bytes().take(NAME_BYTES_MAX).take_while(u8::is_ascii_alphanumeric).count();
    if text[length..].starts_with(';')
        && let Some(character) = resolve_html5_entity(&text[..length])
    {
        decoded.push_str(character);
        return Some(length + 1);
    }
    let ends = (2..=length.min(6)).rev();
    let end =
        ends.into_iter().find(|end| WITHOUT_SEMICOLON.binary_search(&&text[..*end]).is_ok())?;
    let goes_on = text[end..].starts_with(|next: char| next == '=' || next.is_ascii_alphanumeric());
    if is_attribute && goes_on {
        return None;
    }
    decoded.push_str(resolve_html5_entity(&text[..end])?);
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(decode_text(text), expected);
    }

    #[test]
    fn entities_are_decoded_as_browsers_do() {
        check("a &amp; b &lt;c&gt; &euro;5&nbsp;&frac12;", "a & b <c> €5\u{a0}½");
        check(
            "&#65;&#x42;&#X43 &#150; &#0; &#xD800; &#99999999999;",
            "ABC – \u{fffd} \u{fffd} \u{fffd}",
        );
        check(
            "AT&T &copy 2024 &notit; &nosuch; & &; &# &#x;",
            "AT&T © 2024 ¬it; &nosuch; & &; &# &#x;",
        );
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b=3&lt"), "?a=1&copy=2&b=3<");
    }

    #[test]
    fn names_without_semicolon_are_sorted_and_exist() {
        assert!(WITHOUT_SEMICOLON.is_sorted());
        assert!(WITHOUT_SEMICOLON.iter().all(|name| resolve_html5_entity(name).is_some()));
    }
}
