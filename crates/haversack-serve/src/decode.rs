//! Percent-decoding of query strings and header values.

use std::collections::BTreeMap;

use crate::problem::ApiProblem;

/// Decodes the pairs of a query string. The last value of a repeated name counts.
pub(crate) fn query_pairs(text: Option<&str>) -> Result<BTreeMap<String, String>, ApiProblem> {
    let mut pairs = BTreeMap::new();
    for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text: &str| percent_decode("query", &text.replace('+', " "));
        pairs.insert(decode(name)?, decode(value)?);
    }
    Ok(pairs)
}

/// Decodes a percent-encoded text. `field` names it in the problem.
pub(crate) fn percent_decode(field: &str, text: &str) -> Result<String, ApiProblem> {
    let wrong = || ApiProblem::invalid(field, format!("{text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let (high, low) = high.zip(low).ok_or_else(wrong)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| wrong())?);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_string_is_decoded_or_refused() {
        let read = query_pairs(Some("kind=note&after=a%2Fb+c&x")).unwrap();
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(read, [("after", "a/b c"), ("kind", "note"), ("x", "")]);
        for bad in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(query_pairs(Some(bad)).is_err(), "{bad}");
        }
    }
}
