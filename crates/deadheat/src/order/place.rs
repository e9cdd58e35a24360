//! A place as it is written in an order.

/// Where a step is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// `file.c:LINE`, `module!file.c:LINE`.
    Line {
        /// The module, if one is named.
        module: Option<String>,
        /// The end of the source file's path.
        file: String,
        /// The line, from 1.
        line: u32,
    },
    /// `module+0xOFFSET`.
    Offset {
        /// The module.
        module: String,
        /// The address in the module's own address space.
        offset: u64,
    },
}

/// How a place is to be written.
const FORMS: &str = "a place is written file.c:LINE, module!file.c:LINE or module+0xOFFSET";

impl Place {
    /// Reads a place.
    pub(crate) fn parse(text: &str) -> Result<Place, String> {
        if let Some((module, offset)) = text.rsplit_once("+0x") {
            let offset = u64::from_str_radix(offset, 16).map_err(|_| FORMS.to_owned())?;
            let module = named(module)?;
            return Ok(Place::Offset { module, offset });
        }
        let (module, rest) = match text.split_once('!') {
            Some((module, rest)) => (Some(named(module)?), rest),
            None => (None, text),
        };
        let (file, line) = rest.rsplit_once(':').ok_or(FORMS)?;
        let line = line.parse().ok().filter(|line| *line > 0).ok_or(FORMS)?;
        Ok(Place::Line { module, file: named(file)?, line })
    }
}

fn named(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err(FORMS.to_owned()) } else { Ok(text.to_owned()) }
}

/// A line of an order without what follows `#` at its beginning or behind a blank.
pub(crate) fn without_comment(line: &str) -> &str {
    let begins = |at: &usize| *at == 0 || line[..*at].ends_with([' ', '\t']);
    let end = line.match_indices('#').map(|(at, _)| at).find(begins).unwrap_or(line.len());
    line[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let line = |module: Option<&str>, file: &str, line| Place::Line {
            module: module.map(str::to_owned),
            file: file.to_owned(),
            line,
        };
        let offset = |module: &str, offset| Place::Offset { module: module.to_owned(), offset };
        for (text, place) in [
            ("a.c:12", line(None, "a.c", 12)),
            ("src/a.c:1", line(None, "src/a.c", 1)),
            ("libx.so!a.c:7", line(Some("libx.so"), "a.c", 7)),
            ("./lib/libx.so ! a.c:7", line(Some("./lib/libx.so"), "a.c", 7)),
            ("libstdc++.so.6+0x1f0", offset("libstdc++.so.6", 0x1f0)),
        ] {
            assert_eq!(Place::parse(text), Ok(place), "{text}");
        }
        for text in ["a.c", "a.c:", "a.c:0", "a.c:x", ":3", "!a.c:3", "+0x10", "m+0xg", "m+16"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn comments() {
        for (line, place) in
            [("# all", ""), ("  a.c:1  # first", "a.c:1"), ("c#/a.c:1", "c#/a.c:1"), ("", "")]
        {
            assert_eq!(without_comment(line), place);
        }
    }
}
