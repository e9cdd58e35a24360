//! Texts of CSP_M that several tests read.

/// A model with most of the language in it.
pub(crate) const MODEL: &str = "\
-- A buffer of two places {- not a comment here -}
datatype T = t1 | t2 {- {- nested -} -}
nametype N = {0..2}
channel put, get : T.N
channel tick
BUFFER(n) = n < 2 & put?t?x -> BUFFER(n + 1) [] n > 0 & get?t:diff(T, {t2})?x -> BUFFER(n - 1)
USER(t) = put.t!0 -> get!t1.0 -> if t == t1 then tick -> SKIP else STOP
ALL = ||| t:T @ USER(t)
SYSTEM = (ALL [|{|put, get|}|] BUFFER(0)) \\ {|put, get|}
BOTH = || t:T @ [{|put.t, get.t1|}] USER(t)
OTHER = (USER(t1)[[put.t1 <- put.t2]] /\\ tick -> STOP) ; STOP |~| SKIP
assert tick -> STOP [T= SYSTEM
assert STOP [T= SYSTEM
assert ALL [T= BOTH
";

/// What the bodies of [`BINDINGS`] need.
pub(crate) const HEAD: &str = "channel a, b, c\nX = {a}\nN(n) = STOP\nP = STOP\nQ = STOP\nR = STOP\n";

/// How operators bind: a body as it may be written, and with all parentheses.
pub(crate) const BINDINGS: [(&str, &str); 15] = [
    ("a -> P [] b -> Q", "(a -> P) [] (b -> Q)"),
    ("P [] Q |~| R", "(P [] Q) |~| R"),
    ("P ; Q [] R", "(P ; Q) [] R"),
    ("P /\\ Q [] R", "(P /\\ Q) [] R"),
    ("P ; Q /\\ R", "(P ; Q) /\\ R"),
    ("a -> P ; Q", "(a -> P) ; Q"),
    ("P ||| Q \\ X", "(P ||| Q) \\ X"),
    ("P [|X|] Q ||| R", "(P [|X|] Q) ||| R"),
    ("P |~| Q [|X|] R", "(P |~| Q) [|X|] R"),
    ("P[[a <- b]] \\ X", "(P[[a <- b]]) \\ X"),
    ("1 < 2 and not 3 == 4 & P", "((1 < 2) and (not (3 == 4))) & P"),
    ("N(1 + 2 * 3 - 4)", "N((1 + (2 * 3)) - 4)"),
    ("[] x:X @ x -> P [] Q", "[] x:X @ ((x -> P) [] Q)"),
    ("if true then P else Q [] R", "if true then P else (Q [] R)"),
    ("P [X || X] Q [] R", "P [X || X] (Q [] R)"),
];
