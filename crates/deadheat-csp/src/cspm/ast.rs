//! What a script says, as data.
//!
//! Programs build it with the functions of [`Expr`]; the reader builds it from text. Names have to be identifiers
//! ([`is_identifier`]); nothing else can be built that the printer would not write as text that reads back as the same.
//! Two scripts are equal if they say the same, wherever it stands.

/// Where an expression stands in its text; line 0 if it was built by a program. All places are equal.
#[derive(Clone, Copy, Default, Debug)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// A script: its declarations in their order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Script {
    /// The declarations.
    pub items: Vec<Item>,
}

/// A declaration and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Where its name, or its first word, stands.
    pub place: Place,
    /// What it declares.
    pub what: What,
}

/// What is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// `datatype T = a | b`
    Datatype(String, Vec<String>),
    /// `nametype T = {0..3}`
    Nametype(String, Expr),
    /// `channel c, d : T.{0..3}`: names, and the sets of their fields.
    Channel(Vec<String>, Vec<Expr>),
    /// `P(x, y) = …`: a process, a set or a value.
    Definition(String, Vec<String>, Expr),
    /// `assert S [T= I`
    Assert(Expr, Expr),
}

/// An expression: a process, a set, an event or a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Kind,
    /// Where it starts; of an infix expression, where its operator stands.
    pub place: Place,
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `7`: not negative; `-7` is a [`Kind::Negative`].
    Number(i64),
    /// `true`, `false`
    Bool(bool),
    /// A variable, a constructor, a channel, a set's name, or a process without parameters.
    Name(String),
    /// `P(1, x)`
    Call(String, Vec<Expr>),
    /// `c.x.y`: at least two parts.
    Dot(Vec<Expr>),
    /// `-x`
    Negative(Box<Expr>),
    /// `not x`
    Not(Box<Expr>),
    /// `x + y` and the like.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `{a, b}`
    Members(Vec<Expr>),
    /// `{0..3}`
    Range(Box<Expr>, Box<Expr>),
    /// `{| c, d.x |}`: all events that start so.
    Productions(Vec<Expr>),
    /// `union(A, B)` and the like.
    SetOf(SetOperator, Box<Expr>, Box<Expr>),
    /// `Events`
    Events,
    /// `if c then x else y`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `STOP`
    Stop,
    /// `SKIP`
    Skip,
    /// `a -> b!x -> c?y -> P`: at least one event.
    Prefix(Vec<Communication>, Box<Expr>),
    /// `c & P`
    Guard(Box<Expr>, Box<Expr>),
    /// `P [] Q [] …`, or another operator: at least two operands.
    Infix(Infix, Vec<Expr>),
    /// `P [| A |] Q`
    Parallel(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `P [A || B] Q`: P, A, B, Q.
    Alphabetised(Box<Expr>, Box<Expr>, Box<Expr>, Box<Expr>),
    /// `P \ A`
    Hide(Box<Expr>, Box<Expr>),
    /// `P[[a <- b, c <- d]]`
    Rename(Box<Expr>, Vec<(Expr, Expr)>),
    /// `[] x : S, y : T @ P` and the like: at least one variable.
    Replicated(Replicated, Vec<(String, Expr)>, Box<Expr>),
}

/// Operators on values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "their text is in `Binary::text`")]
pub enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divided,
    Modulo,
}

impl Binary {
    /// All of them.
    pub const ALL: [Binary; 13] = [
        Binary::Or,
        Binary::And,
        Binary::Equal,
        Binary::Unequal,
        Binary::Less,
        Binary::LessOrEqual,
        Binary::Greater,
        Binary::GreaterOrEqual,
        Binary::Plus,
        Binary::Minus,
        Binary::Times,
        Binary::Divided,
        Binary::Modulo,
    ];

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Binary::Or => "or",
            Binary::And => "and",
            Binary::Equal => "==",
            Binary::Unequal => "!=",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
            Binary::Plus => "+",
            Binary::Minus => "-",
            Binary::Times => "*",
            Binary::Divided => "/",
            Binary::Modulo => "%",
        }
    }
}

/// Operators on sets, written as functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperator {
    /// `union(A, B)`
    Union,
    /// `inter(A, B)`
    Intersection,
    /// `diff(A, B)`
    Difference,
}

impl SetOperator {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            SetOperator::Union => "union",
            SetOperator::Intersection => "inter",
            SetOperator::Difference => "diff",
        }
    }
}

/// Operators on processes that take nothing but processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Infix {
    /// `[]`
    External,
    /// `|~|`
    Internal,
    /// `|||`
    Interleave,
    /// `/\`
    Interrupt,
    /// `;`
    Sequence,
}

impl Infix {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Infix::External => "[]",
            Infix::Internal => "|~|",
            Infix::Interleave => "|||",
            Infix::Interrupt => "/\\",
            Infix::Sequence => ";",
        }
    }
}

/// Operators over an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replicated {
    /// `[] x : S @ P`
    External,
    /// `|~| x : S @ P`
    Internal,
    /// `||| x : S @ P`
    Interleave,
    /// `[| A |] x : S @ P`
    Parallel(Box<Expr>),
    /// `|| x : S @ [A] P`: each does the events of its own set.
    Alphabetised(Box<Expr>),
}

/// An event of a prefix: what it starts with, then what is sent and taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communication {
    /// `c` or `c.x`
    pub head: Expr,
    /// What follows.
    pub fields: Vec<Field>,
}

/// A field of a communication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// `!v`: this value.
    Output(Expr),
    /// `?x` or `?x:S`: any value (of the set); `x` is it in what follows.
    Input(String, Option<Expr>),
}

impl From<Expr> for Communication {
    fn from(head: Expr) -> Self {
        Communication { head, fields: Vec::new() }
    }
}

impl From<Kind> for Expr {
    fn from(kind: Kind) -> Self {
        Expr { kind, place: Place::default() }
    }
}

impl From<What> for Item {
    fn from(what: What) -> Self {
        Item { place: Place::default(), what }
    }
}

impl Expr {
    /// A name.
    pub fn name(name: impl Into<String>) -> Expr {
        Kind::Name(name.into()).into()
    }

    /// A number.
    pub fn number(number: i64) -> Expr {
        match u64::try_from(number) {
            Ok(_) => Kind::Number(number).into(),
            Err(_) => Kind::Negative(Box::new(Kind::Number(number.saturating_neg()).into())).into(),
        }
    }

    /// `P(x, …)`; without arguments the name.
    pub fn call(name: impl Into<String>, arguments: Vec<Expr>) -> Expr {
        if arguments.is_empty() { Expr::name(name) } else { Kind::Call(name.into(), arguments).into() }
    }

    /// `c.x.y` of names.
    pub fn dotted(names: &[&str]) -> Expr {
        match names {
            [only] => Expr::name(*only),
            _ => Kind::Dot(names.iter().map(|&name| Expr::name(name)).collect()).into(),
        }
    }

    /// `{| c, d.x |}`
    pub fn productions(of: Vec<Expr>) -> Expr {
        Kind::Productions(of).into()
    }

    /// `a -> b -> … -> P`; of no event P.
    pub fn prefix(events: Vec<Communication>, then: Expr) -> Expr {
        if events.is_empty() { then } else { Kind::Prefix(events, Box::new(then)).into() }
    }

    /// `P [] Q [] …`; of one operand that, of none `STOP` (of `|||` and `;`: `SKIP`).
    pub fn infix(operator: Infix, mut operands: Vec<Expr>) -> Expr {
        match (operands.len(), operator) {
            (0, Infix::Interleave | Infix::Sequence) => Kind::Skip.into(),
            (0, Infix::External | Infix::Internal | Infix::Interrupt) => Kind::Stop.into(),
            (1, _) => operands.remove(0),
            _ => Kind::Infix(operator, operands).into(),
        }
    }

    /// `P [| A |] Q`
    pub fn parallel(left: Expr, set: Expr, right: Expr) -> Expr {
        Kind::Parallel(Box::new(left), Box::new(set), Box::new(right)).into()
    }

    /// `P \ A`
    pub fn hide(process: Expr, set: Expr) -> Expr {
        Kind::Hide(Box::new(process), Box::new(set)).into()
    }
}

/// Words that are no identifiers.
pub const KEYWORDS: [&str; 20] = [
    "STOP", "SKIP", "Events", "if", "then", "else", "not", "and", "or", "true", "false", "assert", "channel",
    "datatype", "nametype", "union", "inter", "diff", "let", "within",
];

/// Whether a name can be written: a letter, then letters, digits, `_` and `'`, and no keyword.
pub fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|next| next.is_ascii_alphanumeric() || next == '_' || next == '\'')
        && !is_keyword(name)
}

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}
