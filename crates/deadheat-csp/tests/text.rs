//! CSP_M: text → data → text is a fixed point, every error says where and what was expected, nothing makes the reader
//! panic, and what is read means what it says.

mod support;

use deadheat_csp::cspm::ast::{Binary, Communication, Field, Infix, Replicated, SetOperator, What};
use deadheat_csp::cspm::{self, Expr, Item, Kind, Script};
use deadheat_csp::{Limits, Verdict, traces};
use support::Random;
use support::texts::{BINDINGS, HEAD, MODEL};

/// A script that means nothing, of every construct, however deep.
struct Scripts(Random);

impl Scripts {
    fn name(&mut self) -> String {
        self.0.pick(&["P", "Q", "x", "y'", "c", "lock_1", "T", "m0"]).to_owned()
    }

    fn list(&mut self, least: usize, depth: usize) -> Vec<Expr> {
        (0..least + self.0.below(3)).map(|_| self.expr(depth)).collect()
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    fn value(&mut self) -> Expr {
        match self.0.below(8) {
            0 => Expr::number(self.0.below(100) as i64 - 50),
            1 => Kind::Bool(self.0.below(2) == 0).into(),
            2 => Kind::Events.into(),
            3 => Kind::Stop.into(),
            4 => Kind::Skip.into(),
            _ => Expr::name(self.name()),
        }
    }

    fn expr(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return self.value();
        }
        let depth = depth - 1;
        let kind = match self.0.below(21) {
            0 => Kind::Call(self.name(), self.list(1, depth)),
            1 => Kind::Dot(self.list(2, depth)),
            2 => Kind::Negative(self.boxed(depth)),
            3 => Kind::Not(self.boxed(depth)),
            4 => Kind::Binary(self.0.pick(&Binary::ALL), self.boxed(depth), self.boxed(depth)),
            5 => Kind::Members(self.list(0, depth)),
            6 => Kind::Range(self.boxed(depth), self.boxed(depth)),
            7 => Kind::Productions(self.list(0, depth)),
            8 => {
                let operators = [SetOperator::Union, SetOperator::Intersection, SetOperator::Difference];
                Kind::SetOf(self.0.pick(&operators), self.boxed(depth), self.boxed(depth))
            }
            9 => Kind::If(self.boxed(depth), self.boxed(depth), self.boxed(depth)),
            10 | 11 => {
                let steps = (0..1 + self.0.below(4)).map(|_| self.communication(depth)).collect();
                Kind::Prefix(steps, self.boxed(depth))
            }
            12 => Kind::Guard(self.boxed(depth), self.boxed(depth)),
            13 | 14 => {
                let operators =
                    [Infix::External, Infix::Internal, Infix::Interleave, Infix::Interrupt, Infix::Sequence];
                Kind::Infix(self.0.pick(&operators), self.list(2, depth))
            }
            15 => Kind::Parallel(self.boxed(depth), self.boxed(depth), self.boxed(depth)),
            16 => {
                let parts = [self.boxed(depth), self.boxed(depth), self.boxed(depth), self.boxed(depth)];
                let [left, lefts, rights, right] = parts;
                Kind::Alphabetised(left, lefts, rights, right)
            }
            17 => Kind::Hide(self.boxed(depth), self.boxed(depth)),
            18 => {
                let pairs = (0..self.0.below(3)).map(|_| (self.expr(depth), self.expr(depth))).collect();
                Kind::Rename(self.boxed(depth), pairs)
            }
            _ => {
                let operator = match self.0.below(5) {
                    0 => Replicated::External,
                    1 => Replicated::Internal,
                    2 => Replicated::Interleave,
                    3 => Replicated::Parallel(self.boxed(depth)),
                    _ => Replicated::Alphabetised(self.boxed(depth)),
                };
                let variables = (0..1 + self.0.below(2)).map(|_| (self.name(), self.expr(depth))).collect();
                Kind::Replicated(operator, variables, self.boxed(depth))
            }
        };
        kind.into()
    }

    fn communication(&mut self, depth: usize) -> Communication {
        let mut fields = Vec::new();
        for _ in 0..self.0.below(3) {
            fields.push(match self.0.below(3) {
                0 => Field::Output(self.expr(depth)),
                1 => Field::Input(self.name(), None),
                _ => Field::Input(self.name(), Some(self.expr(depth))),
            });
        }
        Communication { head: self.expr(depth), fields }
    }

    fn script(&mut self) -> Script {
        let mut items: Vec<Item> = Vec::new();
        for _ in 0..1 + self.0.below(4) {
            let names = (0..1 + self.0.below(3)).map(|_| self.name()).collect();
            let depth = self.0.below(4);
            let what = match self.0.below(6) {
                0 => What::Datatype(self.name(), names),
                1 => What::Nametype(self.name(), self.expr(depth)),
                2 => What::Channel(names, self.list(0, depth)),
                3 => What::Assert(self.expr(depth), self.expr(depth)),
                4 => What::Definition(self.name(), Vec::new(), self.expr(depth)),
                _ => What::Definition(self.name(), names, self.expr(depth)),
            };
            items.push(what.into());
        }
        Script { items }
    }
}

/// What a script's text says. Names need not be defined: so without the check of scopes.
fn reread(text: &str) -> Result<Script, cspm::Error> {
    cspm::parse_only(text)
}

#[test]
fn text_to_data_to_text_is_a_fixed_point() {
    for seed in 0..3000 {
        let script = Scripts(Random(seed)).script();
        let text = script.to_string();
        let again = reread(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(again, script, "seed {seed}\n{text}");
        assert_eq!(again.to_string(), text, "seed {seed}");
    }
}

#[test]
fn a_model_means_what_it_says() {
    let script = cspm::read(MODEL).expect("the model is right");
    let again = cspm::read(&script.to_string()).expect("its text is right");
    assert_eq!(again, script);
    let verdicts = |script: &Script| {
        let mut model = cspm::model(script).expect("the model is right");
        let limits = Limits::default();
        let check = |a: &cspm::Assertion| {
            traces(&mut model.terms, a.specification, a.implementation, &limits).expect("guarded").verdict
        };
        model.assertions.clone().iter().map(check).collect::<Vec<_>>()
    };
    let found = verdicts(&script);
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0], &found[2]), (&Verdict::Holds, &Verdict::Holds));
    assert!(matches!(found[1], Verdict::Fails(_)));
    assert_eq!(verdicts(&again), found);
}

/// What comes behind an input is what each value makes of it, whether or not and wherever it is asked for.
#[test]
fn an_input_means_its_values() {
    let same = [
        ("c?x -> d?y -> e -> STOP", "(c?z -> SKIP) ; (d?z -> SKIP) ; (e -> STOP)"),
        ("c?x -> d?y -> c!x -> STOP", "(c.0 -> d?y -> c.0 -> STOP) [] (c.1 -> d?y -> c.1 -> STOP)"),
        ("c?x -> d?y -> d!y -> STOP", "c?x -> ((d.0 -> d.0 -> STOP) [] (d.1 -> d.1 -> STOP))"),
        ("c?x -> d?x -> d!x -> STOP", "c?x -> ((d.0 -> d.0 -> STOP) [] (d.1 -> d.1 -> STOP))"),
        ("c?x -> (if x == 0 then e -> STOP else STOP)", "(c.0 -> e -> STOP) [] (c.1 -> STOP)"),
        ("c?x -> P(x)", "(c.0 -> P(0)) [] (c.1 -> P(1))"),
        ("c?x -> d?y -> P(x)", "(c.0 -> d?y -> P(0)) [] (c.1 -> d?y -> P(1))"),
    ];
    for (one, other) in same {
        let text = format!(
            "channel c, d : {{0..1}}\nchannel e\nP(x) = d!x -> STOP\nA = {one}\nB = {other}\n\
             assert A [T= B\nassert B [T= A\n"
        );
        let script = cspm::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let mut model = cspm::model(&script).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        for assertion in model.assertions.clone() {
            let outcome = traces(
                &mut model.terms,
                assertion.specification,
                assertion.implementation,
                &Limits::default(),
            );
            assert_eq!(outcome.expect("guarded").verdict, Verdict::Holds, "{text}");
        }
    }
}

#[test]
fn operators_bind_as_in_the_language() {
    for (written, meant) in BINDINGS {
        let read =
            |body| cspm::read(&format!("{HEAD}S = {body}\n")).unwrap_or_else(|e| panic!("{body}: {e}"));
        assert_eq!(read(written), read(meant), "{written}");
    }
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let table = [
        ("P", "1:2: expected `=`, found the end of the text"),
        ("P = a b\n", "2:1: expected `=`, found the end of the text"),
        ("P = (STOP\n", "2:1: expected `)`, found the end of the text"),
        ("channel a\nP = a ->\n", "3:1: expected a process, an event or a value, found the end of the text"),
        ("P = ?x -> STOP", "1:5: expected a process, an event or a value, found `?`"),
        ("channel c : {0..1}.{0..1}\nP = c?x.y -> STOP", "2:8: expected `!`, `?`, `:` or `->`, found `.`"),
        ("channel c : {0..1}\nP = c!1 [] STOP", "2:9: expected `!`, `?` or `->`, found `[]`"),
        ("P = STOP [|{}|", "1:14: expected `|]`, found `|`"),
        ("P = STOP \\ {", "1:13: expected a process, an event or a value, found the end of the text"),
        ("P = {1, 2 3}", "1:11: expected `,`, `..` or `}`, found `3`"),
        ("let", "1:1: expected a definition, `channel`, `datatype`, `nametype` or `assert`, found `let`"),
        ("datatype T = 1", "1:14: expected a constructor, found `1`"),
        ("P = #", "1:5: expected a word, a number or a symbol of CSP_M, found '#'"),
        (
            "{- never {- ends -}",
            "1:20: expected `-}` of the comment that starts at 1:1, found the end of the text",
        ),
        (
            "assert STOP [F= STOP",
            "1:13: expected `[T=` (of assertions only traces refinement is known), found `[F=`",
        ),
        ("P = Q", "1:5: expected a name that is defined, found `Q`"),
        ("P = STOP\nP = SKIP", "2:1: expected a name that is new, found `P`, which is declared at 1:1"),
        ("P(x) = STOP\nQ = P", "2:5: expected `P` with 1 argument, found none"),
        ("P = STOP\nQ = P(1)", "2:5: expected `P` without arguments, found 1"),
        ("P(x, x) = STOP", "1:1: expected each parameter once, found `x` a second time"),
        ("channel c : {0..1}\nassert STOP [T= c -> STOP", "2:17: expected 1 field after `c`, found 0"),
        (
            "channel c : {0..1}\nassert STOP [T= c.5 -> STOP",
            "2:17: expected a value of field 1 of `c`, found `5`",
        ),
        ("channel c\nassert STOP [T= c?x -> STOP", "2:17: expected at most 0 fields after `c`, found more"),
        ("assert STOP [T= 1 + 1", "1:19: expected a process, found a number"),
        ("channel c\nassert STOP [T= c", "2:17: expected a process, found a channel"),
        ("channel c\nX = {c}\nassert STOP [T= X", "3:17: expected a process, found a set"),
        ("assert STOP [T= STOP \\ 3", "1:24: expected a set, found a number"),
        ("assert STOP [T= 1 & STOP", "1:17: expected a truth value, found a number"),
        ("assert STOP [T= |~| x:{} @ STOP", "1:17: expected a set with members for `|~|`, found none"),
        (
            "P(x) = if 1 / x == 0 then STOP else SKIP\nassert P(0) [T= STOP",
            "1:15: expected a divisor that is not 0, found 0",
        ),
        ("X = X\nchannel c : X", "1:5: expected expressions and values nested at most 500 deep, found more"),
        ("channel c : {0..9999999}", "1:13: expected at most 1048576 members, found more"),
        (
            "N = 99999999999999999999",
            "1:5: expected a number up to 9223372036854775807, found `99999999999999999999`",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, message) in table {
        let error = cspm::read(text).and_then(|script| cspm::model(&script)).expect_err(text).to_string();
        if error != message {
            wrong.push(format!("{text}\n  told: {error}\n  expected: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let deep = format!("P = {}STOP{}", "(".repeat(5000), ")".repeat(5000));
    let error = cspm::read(&deep).expect_err("too deep");
    assert_eq!(error.expected, format!("expressions nested at most {} deep", cspm::MAX_DEPTH));
}

#[test]
fn deep_and_long_texts_are_read_or_refused() {
    // Parentheses and the operator within each are a level each.
    let depth = cspm::MAX_DEPTH / 2 - 1;
    let nested = format!("P = {}STOP{}\nassert P [T= P\n", "(SKIP ; ".repeat(depth), ")".repeat(depth));
    let script = cspm::read(&nested).expect("as deep as allowed");
    assert_eq!(cspm::read(&script.to_string()).as_ref(), Ok(&script));
    assert!(cspm::model(&script).is_ok());
    let long = format!("channel a\nP = {}STOP\nassert P [T= P\n", "a -> ".repeat(50_000));
    let script = cspm::read(&long).expect("chains may be long");
    assert_eq!(cspm::read(&script.to_string()).as_ref(), Ok(&script));
    assert!(cspm::model(&script).is_ok());
    for chain in [" \\ {}", " [|{}|] STOP", "[[]]"] {
        let error = cspm::read(&format!("P = STOP{}", chain.repeat(10_000))).expect_err("too long");
        assert!(error.expected.ends_with("such operators in one definition"), "{error}");
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    const PIECES: [&str; 24] = [
        "[|", "|]", "{|", "|}", "[[", "]]", "->", "<-", "[]", "|~|", "|||", "||", "(", ")", "{", "}", "-",
        "{-", "é", "\u{0}", "?x", "!1", " if ", "\n",
    ];
    let mut read = 0;
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let mut text = MODEL.to_owned();
        for _ in 0..1 + random.below(3) {
            let mut places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            places.push(text.len());
            let place = random.pick(&places);
            match random.below(4) {
                0 => text.insert_str(place, random.pick(&PIECES)),
                1 => text.truncate(place),
                _ => {
                    let other = random.pick(&places);
                    let (from, to) = (place.min(other), place.max(other).min(place.min(other) + 9));
                    let to = (to..=text.len()).find(|&to| text.is_char_boundary(to)).unwrap_or(text.len());
                    text.replace_range(from..to, random.pick(&["", "P", "t1", "0", ".", "\\"]));
                }
            }
        }
        if let Ok(script) = cspm::read(&text) {
            assert_eq!(cspm::read(&script.to_string()).as_ref(), Ok(&script), "{text}");
            // A recursion without end is refused after a million instances: not too many of those.
            read += usize::from(seed % 8 == 0 && cspm::model(&script).is_ok());
        }
    }
    assert!(read > 5, "{read}");
}
