//! Tokens to data: a recursive descent with the binding strengths of the language's manual, strongest first:
//! application and renaming; `*` `/` `%`; `+` `-`; comparisons; `not`; `and`; `or`; `.`; `!` and `?`; `->` and `&`;
//! `;`; `/\`; `[]`; `|~|`; `[| |]` and `[ || ]`; `|||`; `\`; replicated operators and `if`.
//!
//! Chains of prefixes and of one operator are read in loops: the depth of the recursion, which is bounded, is that of
//! the parentheses.

use super::ast::{
    Binary, Communication, Expr, Field, Infix, Item, Kind, Place, Replicated, Script, SetOperator, What,
};
use super::lexer::{Token, tokens};
use super::{Error, MAX_DEPTH};

/// Reads a script.
pub(super) fn script(text: &str) -> Result<Script, Error> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, chained: 0 };
    let mut items = Vec::new();
    while *parser.peek() != Token::End {
        items.push(parser.item()?);
    }
    Ok(Script { items })
}

struct Parser {
    tokens: Vec<(Token, Place)>,
    at: usize,
    depth: usize,
    chained: usize,
}

/// Operators on processes, weakest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Hide,
    Infix(Infix),
    Parallel,
    Alphabetised,
}

/// The operators of each strength, weakest first; what is stronger than all is a prefix.
const STRENGTHS: [&[(&str, Operator)]; 7] = [
    &[("\\", Operator::Hide)],
    &[("|||", Operator::Infix(Infix::Interleave))],
    &[("[|", Operator::Parallel), ("[", Operator::Alphabetised)],
    &[("|~|", Operator::Infix(Infix::Internal))],
    &[("[]", Operator::Infix(Infix::External))],
    &[("/\\", Operator::Infix(Infix::Interrupt))],
    &[(";", Operator::Infix(Infix::Sequence))],
];

/// The binary operators on values of each strength, weakest first.
const VALUE_STRENGTHS: [&[Binary]; 5] = [
    &[Binary::Or],
    &[Binary::And],
    &[
        Binary::Equal,
        Binary::Unequal,
        Binary::Less,
        Binary::LessOrEqual,
        Binary::Greater,
        Binary::GreaterOrEqual,
    ],
    &[Binary::Plus, Binary::Minus],
    &[Binary::Times, Binary::Divided, Binary::Modulo],
];
/// Operators in one declaration whose chains are no lists.
const MAX_CHAINED: usize = 300;
/// The strength of comparisons: `not` binds as one, and they form no chains.
const COMPARISON: usize = 2;

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> Place {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if *found == word)
    }

    fn take(&mut self, word: &str) -> bool {
        let is = self.is(word);
        if is {
            self.next();
        }
        is
    }

    fn error<T>(&self, expected: impl Into<String>) -> Result<T, Error> {
        Err(Error::new(self.place(), expected, self.peek().describe()))
    }

    fn expect(&mut self, word: &str) -> Result<(), Error> {
        if self.take(word) { Ok(()) } else { self.error(format!("`{word}`")) }
    }

    fn name(&mut self, what: &str) -> Result<String, Error> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.next();
                Ok(name)
            }
            Token::Number(_) | Token::Word(_) | Token::End => self.error(what),
        }
    }

    /// One or more, with commas between.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let mut out = vec![one(self)?];
        while self.take(",") {
            out.push(one(self)?);
        }
        Ok(out)
    }

    /// As [`Parser::list`], up to a word that may come at once.
    fn list_to<T>(
        &mut self,
        end: &'static str,
        one: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        if self.take(end) {
            return Ok(Vec::new());
        }
        let out = self.list(one)?;
        if !self.take(end) {
            return self.error(format!("`,` or `{end}`"));
        }
        Ok(out)
    }

    fn item(&mut self) -> Result<Item, Error> {
        self.chained = 0;
        let mut place = self.place();
        let what = if self.take("channel") {
            place = self.place();
            let names = self.list(|parser| parser.name("a channel's name"))?;
            let mut fields = Vec::new();
            if self.take(":") {
                fields.push(self.value(0)?);
                while self.take(".") {
                    fields.push(self.value(0)?);
                }
            }
            What::Channel(names, fields)
        } else if self.take("datatype") {
            place = self.place();
            let name = self.name("a datatype's name")?;
            self.expect("=")?;
            let mut values = vec![self.name("a constructor")?];
            while self.take("|") {
                values.push(self.name("a constructor")?);
            }
            What::Datatype(name, values)
        } else if self.take("nametype") {
            place = self.place();
            let name = self.name("a nametype's name")?;
            self.expect("=")?;
            What::Nametype(name, self.value(0)?)
        } else if self.take("assert") {
            let spec = self.process(0)?;
            if !self.take("[T=") {
                return self.error("`[T=` (of assertions only traces refinement is known)");
            }
            What::Assert(spec, self.process(0)?)
        } else {
            let name = self.name("a definition, `channel`, `datatype`, `nametype` or `assert`")?;
            let mut parameters = Vec::new();
            if self.take("(") {
                parameters = self.list(|parser| parser.name("a parameter"))?;
                self.expect(")")?;
            }
            self.expect("=")?;
            What::Definition(name, parameters, self.process(0)?)
        };
        Ok(Item { place, what })
    }

    /// An expression whose operators bind at least so strongly.
    fn process(&mut self, strength: usize) -> Result<Expr, Error> {
        self.deeper(|parser| parser.operators(strength))
    }

    fn operators(&mut self, strength: usize) -> Result<Expr, Error> {
        let mut left = self.operand()?;
        while let Some((of, operator)) = self.operator(strength) {
            let place = self.place();
            self.chain()?;
            self.next();
            left = match operator {
                Operator::Hide => Kind::Hide(Box::new(left), Box::new(self.value(0)?)),
                Operator::Parallel => {
                    let set = self.value(0)?;
                    self.expect("|]")?;
                    Kind::Parallel(Box::new(left), Box::new(set), Box::new(self.process(of + 1)?))
                }
                Operator::Alphabetised => {
                    let lefts = self.value(0)?;
                    self.expect("||")?;
                    let rights = self.value(0)?;
                    self.expect("]")?;
                    let right = self.process(of + 1)?;
                    Kind::Alphabetised(Box::new(left), Box::new(lefts), Box::new(rights), Box::new(right))
                }
                Operator::Infix(infix) => {
                    let mut operands = vec![left, self.process(of + 1)?];
                    while self.take(infix.text()) {
                        operands.push(self.process(of + 1)?);
                    }
                    Kind::Infix(infix, operands)
                }
            }
            .at(place);
        }
        Ok(left)
    }

    fn operator(&self, strength: usize) -> Option<(usize, Operator)> {
        let Token::Word(found) = *self.peek() else { return None };
        STRENGTHS.iter().enumerate().skip(strength).find_map(|(of, operators)| {
            operators.iter().find(|(word, _)| *word == found).map(|&(_, operator)| (of, operator))
        })
    }

    /// What operators on processes stand between: prefixes and what they lead to.
    fn operand(&mut self) -> Result<Expr, Error> {
        let mut place = self.place();
        let mut events = Vec::new();
        let then = loop {
            if let Some(first) = self.weakest()? {
                break first;
            }
            let here = self.place();
            let head = self.dotted()?;
            let fields = self.fields()?;
            if self.take("->") {
                if events.is_empty() {
                    place = here;
                }
                events.push(Communication { head, fields });
            } else if !fields.is_empty() {
                return self.error("`!`, `?` or `->`");
            } else if self.take("&") {
                let then = self.deeper(Parser::operand)?;
                break Kind::Guard(Box::new(head), Box::new(then)).at(here);
            } else {
                break head;
            }
        };
        Ok(if events.is_empty() { then } else { Kind::Prefix(events, Box::new(then)).at(place) })
    }

    fn fields(&mut self) -> Result<Vec<Field>, Error> {
        let mut fields = Vec::new();
        loop {
            if self.take("!") {
                fields.push(Field::Output(self.dotted()?));
            } else if self.take("?") {
                let name = self.name("a variable")?;
                let set = if self.take(":") { Some(self.value(0)?) } else { None };
                fields.push(Field::Input(name, set));
                if self.is(".") {
                    // The language would take what follows for more variables.
                    return self.error("`!`, `?`, `:` or `->`");
                }
            } else {
                return Ok(fields);
            }
        }
    }

    /// `if` and replicated operators, which bind weakest and take all that follows.
    fn weakest(&mut self) -> Result<Option<Expr>, Error> {
        let place = self.place();
        let Token::Word(word) = *self.peek() else { return Ok(None) };
        let replicated = match word {
            "if" => {
                self.next();
                let condition = self.value(0)?;
                self.expect("then")?;
                let then = self.process(0)?;
                self.expect("else")?;
                let otherwise = self.process(0)?;
                let parts = [condition, then, otherwise].map(Box::new);
                let [condition, then, otherwise] = parts;
                return Ok(Some(Kind::If(condition, then, otherwise).at(place)));
            }
            "[]" => Replicated::External,
            "|~|" => Replicated::Internal,
            "|||" => Replicated::Interleave,
            "[|" => {
                self.next();
                let set = self.value(0)?;
                if !self.is("|]") {
                    return self.error("`|]`");
                }
                Replicated::Parallel(Box::new(set))
            }
            "||" => return self.alphabetised(place).map(Some),
            _ => return Ok(None),
        };
        self.next();
        let variables = self.variables()?;
        let body = self.process(0)?;
        Ok(Some(Kind::Replicated(replicated, variables, Box::new(body)).at(place)))
    }

    fn alphabetised(&mut self, place: Place) -> Result<Expr, Error> {
        self.next();
        let variables = self.variables()?;
        self.expect("[")?;
        let set = self.value(0)?;
        self.expect("]")?;
        let body = self.process(0)?;
        Ok(Kind::Replicated(Replicated::Alphabetised(Box::new(set)), variables, Box::new(body)).at(place))
    }

    fn variables(&mut self) -> Result<Vec<(String, Expr)>, Error> {
        let variables = self.list(|parser| {
            let name = parser.name("a variable")?;
            parser.expect(":")?;
            Ok((name, parser.value(0)?))
        })?;
        self.expect("@")?;
        Ok(variables)
    }

    fn dotted(&mut self) -> Result<Expr, Error> {
        let place = self.place();
        let first = self.value(0)?;
        if !self.is(".") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take(".") {
            parts.push(self.value(0)?);
        }
        Ok(Kind::Dot(parts).at(place))
    }

    /// A value: operators on values that bind at least so strongly.
    fn value(&mut self, strength: usize) -> Result<Expr, Error> {
        if strength == COMPARISON && self.is("not") {
            let place = self.place();
            self.next();
            return self.deeper(|parser| Ok(Kind::Not(Box::new(parser.value(COMPARISON)?)).at(place)));
        }
        if strength == VALUE_STRENGTHS.len() {
            return self.renamed();
        }
        let mut left = self.value(strength + 1)?;
        while let Some(operator) = self.binary(strength) {
            let place = self.place();
            self.next();
            let right = self.value(strength + 1)?;
            left = Kind::Binary(operator, Box::new(left), Box::new(right)).at(place);
            self.chain()?;
            if strength == COMPARISON {
                break;
            }
        }
        Ok(left)
    }

    fn binary(&self, strength: usize) -> Option<Binary> {
        let Token::Word(found) = *self.peek() else { return None };
        VALUE_STRENGTHS[strength].iter().copied().find(|operator| operator.text() == found)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("expressions nested at most {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Chains of most operators lean to the left: the depth of what they build is their length.
    fn chain(&mut self) -> Result<(), Error> {
        self.chained += 1;
        if self.chained > MAX_CHAINED {
            return self.error(format!("at most {MAX_CHAINED} such operators in one definition"));
        }
        Ok(())
    }

    /// Renamings bind to what is before them.
    fn renamed(&mut self) -> Result<Expr, Error> {
        let mut inner = self.primary()?;
        while self.is("[[") {
            let place = self.place();
            self.chain()?;
            self.next();
            let pairs = self.list_to("]]", |parser| {
                let old = parser.dotted()?;
                parser.expect("<-")?;
                Ok((old, parser.dotted()?))
            })?;
            inner = Kind::Rename(Box::new(inner), pairs).at(place);
        }
        Ok(inner)
    }

    fn primary(&mut self) -> Result<Expr, Error> {
        const EXPECTED: &str = "a process, an event or a value";
        let place = self.place();
        let kind = match self.peek().clone() {
            Token::Name(name) => {
                self.next();
                if self.take("(") { Kind::Call(name, self.arguments()?) } else { Kind::Name(name) }
            }
            Token::Number(number) => {
                self.next();
                Kind::Number(number)
            }
            Token::Word(word) => match word {
                "STOP" | "SKIP" | "Events" | "true" | "false" => {
                    self.next();
                    match word {
                        "STOP" => Kind::Stop,
                        "SKIP" => Kind::Skip,
                        "Events" => Kind::Events,
                        _ => Kind::Bool(word == "true"),
                    }
                }
                "(" => {
                    self.next();
                    let inner = self.process(0)?;
                    self.expect(")")?;
                    return Ok(inner);
                }
                "-" => {
                    self.next();
                    let inner = self.deeper(Parser::renamed)?;
                    Kind::Negative(Box::new(inner))
                }
                "{" => self.braces()?,
                "{|" => {
                    self.next();
                    Kind::Productions(self.list_to("|}", Parser::dotted)?)
                }
                "union" | "inter" | "diff" => self.set_operator(word)?,
                _ => return self.error(EXPECTED),
            },
            Token::End => return self.error(EXPECTED),
        };
        Ok(kind.at(place))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Error> {
        let arguments = self.deeper(|parser| parser.list(Parser::dotted))?;
        if self.take(")") { Ok(arguments) } else { self.error("`,` or `)`") }
    }

    fn set_operator(&mut self, word: &str) -> Result<Kind, Error> {
        self.next();
        self.expect("(")?;
        let left = self.deeper(|parser| parser.value(0))?;
        self.expect(",")?;
        let right = self.deeper(|parser| parser.value(0))?;
        self.expect(")")?;
        let operators = [SetOperator::Union, SetOperator::Intersection, SetOperator::Difference];
        let operator = operators.into_iter().find(|operator| operator.text() == word);
        Ok(Kind::SetOf(operator.unwrap_or(SetOperator::Difference), Box::new(left), Box::new(right)))
    }

    fn braces(&mut self) -> Result<Kind, Error> {
        self.next();
        if self.take("}") {
            return Ok(Kind::Members(Vec::new()));
        }
        let first = self.deeper(Parser::dotted)?;
        if self.take("..") {
            let last = self.deeper(Parser::dotted)?;
            self.expect("}")?;
            return Ok(Kind::Range(Box::new(first), Box::new(last)));
        }
        let mut members = vec![first];
        while self.take(",") {
            members.push(self.deeper(Parser::dotted)?);
        }
        if self.take("}") { Ok(Kind::Members(members)) } else { self.error("`,`, `..` or `}`") }
    }
}

impl Kind {
    fn at(self, place: Place) -> Expr {
        Expr { kind: self, place }
    }
}
