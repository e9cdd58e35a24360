//! Text to tokens, each with its place. Comments (`--` to the end of the line, `{- … -}` nested) are blanks.

use super::Error;
use super::ast::{Place, is_keyword};

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Name(String),
    Number(i64),
    /// A keyword or a symbol.
    Word(&'static str),
    End,
}

impl Token {
    /// How a message names it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Word(word) => format!("`{word}`"),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

/// Symbols, those first that others start.
const SYMBOLS: [&str; 46] = [
    "[T=", "[FD=", "[F=", "|||", "|~|", "[[", "]]", "[]", "[|", "|]", "{|", "|}", "||", "->", "<-", "/\\",
    "..", "==", "!=", "<=", ">=", "[", "]", "{", "}", "(", ")", "|", "\\", ";", "&", ",", ".", "?", "!", ":",
    "@", "=", "<", ">", "+", "-", "*", "/", "%", "$",
];

struct Text<'a> {
    rest: &'a str,
    place: Place,
}

impl Text<'_> {
    fn skip(&mut self, bytes: usize) {
        for character in self.rest[..bytes].chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.rest = &self.rest[bytes..];
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.skip(blank);
            if self.rest.starts_with("--") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("{-") {
                self.skip_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let start = self.place;
        let mut depth = 0usize;
        while let Some(character) = self.rest.chars().next() {
            if self.rest.starts_with("{-") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with("-}") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    return Ok(());
                }
            } else {
                self.skip(character.len_utf8());
            }
        }
        let started = format!("`-}}` of the comment that starts at {}:{}", start.line, start.column);
        Err(Error::new(self.place, started, Token::End.describe()))
    }

    fn token(&mut self) -> Result<Token, Error> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        let length =
            |part: fn(char) -> bool| self.rest.find(|character| !part(character)).unwrap_or(self.rest.len());
        if first.is_ascii_alphabetic() {
            let length = length(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
            let name = &self.rest[..length];
            let keyword = super::ast::KEYWORDS.into_iter().find(|&keyword| keyword == name);
            debug_assert_eq!(keyword.is_some(), is_keyword(name));
            let token = keyword.map_or_else(|| Token::Name(name.to_owned()), Token::Word);
            self.skip(length);
            return Ok(token);
        }
        if first.is_ascii_digit() {
            let length = length(|c| c.is_ascii_digit());
            let digits = &self.rest[..length];
            let number = digits.parse().map_err(|_| {
                Error::new(self.place, format!("a number up to {}", i64::MAX), format!("`{digits}`"))
            })?;
            self.skip(length);
            return Ok(Token::Number(number));
        }
        match SYMBOLS.into_iter().find(|symbol| self.rest.starts_with(symbol)) {
            Some(symbol) => {
                self.skip(symbol.len());
                Ok(Token::Word(symbol))
            }
            None => {
                Err(Error::new(self.place, "a word, a number or a symbol of CSP_M", format!("{first:?}")))
            }
        }
    }
}

/// The tokens of a text; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>, Error> {
    let mut text = Text { rest: text, place: Place { line: 1, column: 1 } };
    let mut out = Vec::new();
    loop {
        text.skip_blanks()?;
        let place = text.place;
        let token = text.token()?;
        let end = token == Token::End;
        out.push((token, place));
        if end {
            return Ok(out);
        }
    }
}
