//! The algebraic laws of the operators in the traces model, on random terms, each by refinement both ways.

mod support;

use deadheat_csp::{Term, Verdict};
use support::Generator;

/// Random terms a law is tried with.
const ROUNDS: u64 = 60;

/// Checks that two terms made of random P, Q and R always have the same traces. Where a normal form is too large
/// for the little memory that is allowed nothing is learnt; that may happen to one in three.
fn law(name: &str, sides: impl Fn(&mut Generator, [Term; 3]) -> (Term, Term)) {
    let mut decided = 0;
    for seed in 0..ROUNDS {
        let mut g = Generator::new(seed, true);
        let parts = [g.term(1), g.term(1), g.term(1)];
        let (left, right) = sides(&mut g, parts);
        for (spec, implementation) in [(left, right), (right, left)] {
            match g.check(spec, implementation, 1).verdict {
                Verdict::Holds => decided += 1,
                Verdict::OutOfMemory { .. } => {}
                Verdict::Fails(counterexample) => panic!("{name}, seed {seed}: {counterexample:?}"),
            }
        }
    }
    assert!(decided >= ROUNDS * 2 * 2 / 3, "{name}: {decided} of {} decided", ROUNDS * 2);
}

/// Checks that an equation that is no law fails for some random terms: the laws above could fail.
fn no_law(name: &str, sides: impl Fn(&mut Generator, [Term; 3]) -> (Term, Term)) {
    let fails = (0..ROUNDS).any(|seed| {
        let mut g = Generator::new(seed, true);
        let parts = [g.term(1), g.term(1), g.term(1)];
        let (left, right) = sides(&mut g, parts);
        let fails = |verdict| matches!(verdict, Verdict::Fails(_));
        fails(g.check(left, right, 1).verdict) || fails(g.check(right, left, 1).verdict)
    });
    assert!(fails, "{name} held {ROUNDS} times");
}

#[test]
fn choice() {
    law("STOP [] P = P", |g, [p, ..]| {
        let stop = g.terms.stop();
        (g.terms.external(&[stop, p]), p)
    });
    law("P [] P = P", |g, [p, ..]| (g.terms.external(&[p, p]), p));
    law("P [] Q = Q [] P", |g, [p, q, _]| (g.terms.external(&[p, q]), g.terms.external(&[q, p])));
    law("P [] (Q [] R) = P [] Q [] R", |g, [p, q, r]| {
        let inner = g.terms.external(&[q, r]);
        (g.terms.external(&[p, inner]), g.terms.external(&[p, q, r]))
    });
    law("P |~| Q = P [] Q, as to traces", |g, [p, q, _]| {
        (g.terms.internal(&[p, q]), g.terms.external(&[p, q]))
    });
    law("a -> (P |~| Q) = (a -> P) [] (a -> Q)", |g, [p, q, _]| {
        let a = g.events[0];
        let inner = g.terms.internal(&[p, q]);
        let (ap, aq) = (g.terms.prefix(a, p), g.terms.prefix(a, q));
        (g.terms.prefix(a, inner), g.terms.external(&[ap, aq]))
    });
    no_law("P [] Q = P", |g, [p, q, _]| (g.terms.external(&[p, q]), p));
}

#[test]
fn interleaving() {
    law("P ||| Q = P [|{}|] Q", |g, [p, q, _]| {
        let nothing = g.terms.set([]);
        (g.terms.interleave(p, q), g.terms.parallel(p, nothing, q))
    });
    law("P ||| Q = Q ||| P", |g, [p, q, _]| (g.terms.interleave(p, q), g.terms.interleave(q, p)));
    law("P ||| SKIP = P", |g, [p, ..]| {
        let skip = g.terms.skip();
        (g.terms.interleave(p, skip), p)
    });
    law("P ||| STOP = P ; STOP", |g, [p, ..]| {
        let stop = g.terms.stop();
        (g.terms.interleave(p, stop), g.terms.sequence(p, stop))
    });
    law("(P ||| Q) ||| R = P ||| (Q ||| R)", |g, [p, q, r]| {
        let (left, right) = (g.terms.interleave(p, q), g.terms.interleave(q, r));
        (g.terms.interleave(left, r), g.terms.interleave(p, right))
    });
    law("(a -> P) ||| (b -> Q) = a -> (P ||| b -> Q) [] b -> (a -> P ||| Q)", |g, [p, q, _]| {
        let (a, b) = (g.events[0], g.events[1]);
        let (ap, bq) = (g.terms.prefix(a, p), g.terms.prefix(b, q));
        let (one, other) = (g.terms.interleave(p, bq), g.terms.interleave(ap, q));
        let (one, other) = (g.terms.prefix(a, one), g.terms.prefix(b, other));
        (g.terms.interleave(ap, bq), g.terms.external(&[one, other]))
    });
    no_law("P ||| P = P", |g, [p, ..]| (g.terms.interleave(p, p), p));
}

#[test]
fn parallel() {
    law("P [|Σ|] P = P", |g, [p, ..]| {
        let all = g.terms.set(g.events.clone());
        (g.terms.parallel(p, all, p), p)
    });
    law("P [Σ||Σ] Q = P [|Σ|] Q", |g, [p, q, _]| {
        let all = g.terms.set(g.events.clone());
        (g.terms.alphabetised(p, all, all, q), g.terms.parallel(p, all, q))
    });
    law("P [A||B] Q = Q [B||A] P", |g, [p, q, _]| {
        let (a, b) = (g.set(), g.set());
        (g.terms.alphabetised(p, a, b, q), g.terms.alphabetised(q, b, a, p))
    });
    law("(a -> P) [|{a}|] (a -> Q) = a -> (P [|{a}|] Q)", |g, [p, q, _]| {
        let a = g.events[0];
        let set = g.terms.set([a]);
        let (ap, aq) = (g.terms.prefix(a, p), g.terms.prefix(a, q));
        let inner = g.terms.parallel(p, set, q);
        (g.terms.parallel(ap, set, aq), g.terms.prefix(a, inner))
    });
    law("(a -> P) [|{a, b}|] (b -> Q) = STOP", |g, [p, q, _]| {
        let (a, b) = (g.events[0], g.events[1]);
        let set = g.terms.set([a, b]);
        let (ap, bq) = (g.terms.prefix(a, p), g.terms.prefix(b, q));
        (g.terms.parallel(ap, set, bq), g.terms.stop())
    });
    law("(P [|A|] Q) [|A|] R = P [|A|] (Q [|A|] R)", |g, [p, q, r]| {
        let set = g.set();
        let (left, right) = (g.terms.parallel(p, set, q), g.terms.parallel(q, set, r));
        (g.terms.parallel(left, set, r), g.terms.parallel(p, set, right))
    });
    no_law("P [|A|] Q = P ||| Q", |g, [p, q, _]| {
        let set = g.set();
        (g.terms.parallel(p, set, q), g.terms.interleave(p, q))
    });
}

#[test]
fn hiding_and_renaming() {
    law("(a -> P) \\ {a} = P \\ {a}", |g, [p, ..]| {
        let a = g.events[0];
        let set = g.terms.set([a]);
        let ap = g.terms.prefix(a, p);
        (g.terms.hide(ap, set), g.terms.hide(p, set))
    });
    law("(a -> P) \\ {b} = a -> (P \\ {b})", |g, [p, ..]| {
        let (a, b) = (g.events[0], g.events[1]);
        let set = g.terms.set([b]);
        let (ap, inner) = (g.terms.prefix(a, p), g.terms.hide(p, set));
        (g.terms.hide(ap, set), g.terms.prefix(a, inner))
    });
    law("(P \\ A) \\ B = P \\ (A ∪ B)", |g, [p, ..]| {
        let (a, b) = (g.set(), g.set());
        let both: Vec<_> = g.terms.members(a).iter().chain(g.terms.members(b)).copied().collect();
        let (both, inner) = (g.terms.set(both), g.terms.hide(p, a));
        (g.terms.hide(inner, b), g.terms.hide(p, both))
    });
    law("(P ||| Q) \\ A = (P \\ A) ||| (Q \\ A)", |g, [p, q, _]| {
        let set = g.set();
        let together = g.terms.interleave(p, q);
        let (p, q) = (g.terms.hide(p, set), g.terms.hide(q, set));
        (g.terms.hide(together, set), g.terms.interleave(p, q))
    });
    law("(a -> P)[[a <- b, a <- c]] = b -> P' [] c -> P'", |g, [p, ..]| {
        let (a, b, c) = (g.events[0], g.events[1], g.events[2]);
        let renaming = g.terms.renaming([(a, b), (a, c)]);
        let (ap, inner) = (g.terms.prefix(a, p), g.terms.rename(p, renaming));
        let (one, other) = (g.terms.prefix(b, inner), g.terms.prefix(c, inner));
        (g.terms.rename(ap, renaming), g.terms.external(&[one, other]))
    });
    law("P[[]] = P", |g, [p, ..]| {
        let renaming = g.terms.renaming([]);
        (g.terms.rename(p, renaming), p)
    });
    no_law("P \\ A = P", |g, [p, ..]| {
        let set = g.set();
        (g.terms.hide(p, set), p)
    });
}

#[test]
fn sequence_and_interrupt() {
    law("SKIP ; P = P", |g, [p, ..]| {
        let skip = g.terms.skip();
        (g.terms.sequence(skip, p), p)
    });
    law("P ; SKIP = P", |g, [p, ..]| {
        let skip = g.terms.skip();
        (g.terms.sequence(p, skip), p)
    });
    law("STOP ; P = STOP", |g, [p, ..]| {
        let stop = g.terms.stop();
        (g.terms.sequence(stop, p), stop)
    });
    law("(P ; Q) ; R = P ; (Q ; R)", |g, [p, q, r]| {
        let (left, right) = (g.terms.sequence(p, q), g.terms.sequence(q, r));
        (g.terms.sequence(left, r), g.terms.sequence(p, right))
    });
    law("(a -> P) ; Q = a -> (P ; Q)", |g, [p, q, _]| {
        let a = g.events[0];
        let (ap, inner) = (g.terms.prefix(a, p), g.terms.sequence(p, q));
        (g.terms.sequence(ap, q), g.terms.prefix(a, inner))
    });
    law("P /\\ STOP = P", |g, [p, ..]| {
        let stop = g.terms.stop();
        (g.terms.interrupt(p, stop), p)
    });
    law("STOP /\\ P = P", |g, [p, ..]| {
        let stop = g.terms.stop();
        (g.terms.interrupt(stop, p), p)
    });
    law("(a -> P) /\\ Q = Q [] a -> (P /\\ Q)", |g, [p, q, _]| {
        let a = g.events[0];
        let (ap, inner) = (g.terms.prefix(a, p), g.terms.interrupt(p, q));
        let then = g.terms.prefix(a, inner);
        (g.terms.interrupt(ap, q), g.terms.external(&[q, then]))
    });
    law("(P /\\ Q) /\\ R = P /\\ (Q /\\ R)", |g, [p, q, r]| {
        let (left, right) = (g.terms.interrupt(p, q), g.terms.interrupt(q, r));
        (g.terms.interrupt(left, r), g.terms.interrupt(p, right))
    });
    no_law("P ; Q = P", |g, [p, q, _]| (g.terms.sequence(p, q), p));
    no_law("P /\\ Q = Q /\\ P", |g, [p, q, _]| (g.terms.interrupt(p, q), g.terms.interrupt(q, p)));
}
