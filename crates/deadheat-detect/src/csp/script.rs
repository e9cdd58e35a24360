//! The model of a variable as CSP_M text.
//!
//! Paper: sections 2.2 and 2.3. Departures: an operation that waits for others is preceded by an event `step.t.k` of its own, one for
//! which others wait is followed by `done.t.k` (`fork` and `join` have their names); reads that see certain writes, and these, are
//! `touch.t.k`, and each stretch of memory that they touch is a process that lets a read happen only if the last write is its own. An
//! access that touches one is asked for by an event beside it, behind which the thread stops: what it would read then does
//! not matter.
//!
//! Of `csp=control`: `touch.t.k` comes where the operation is not tainted, `taint.t.k` where it may be; behind that the thread goes on
//! as `TAINTED`, which does the same but `touch.t.k`, and what it writes is `FOUL`. That an operation need not be tainted where it may
//! be gives no race that there is not without.

use std::fmt::Write as _;

use deadheat_core::event::{LockMode, Op as Event};
use deadheat_core::rule::conflicts;

use super::model::{Act, At, Model, Op, Target, Value, Waiting};
use super::registers::uses;
use crate::run::{Cell, Number, Run};

/// A model as text, and what its assertions are about.
#[derive(Debug)]
pub struct Script {
    /// The text.
    pub text: String,
    /// By assertion: two threads, by their rows, and the events with which the life of the memory began that they race in, from 1, or 0.
    pub asked: Vec<(usize, usize, u32)>,
}

/// A sort of access that a thread has before it at some place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    target: Target,
    writes: bool,
    atomic: bool,
    life: u32,
}

/// The model of one stretch of memory. An assertion fails if its two threads race there.
pub(super) fn script(run: &Run, model: &Model, cell: &Cell) -> Script {
    let window = 0..run.len() as Number;
    let mut accesses: Vec<Access> = Vec::new();
    for at in uses(cell, &window).iter().filter(|at| !at.birth) {
        let target = model.target(run.place(at.event).0, at.event);
        let access = Access { target, writes: at.mode.writes(), atomic: at.atomic, life: at.life };
        if !accesses.contains(&access) {
            accesses.push(access);
        }
    }
    let mut lives: Vec<u32> = accesses.iter().map(|access| access.life).collect();
    lives.sort_unstable();
    lives.dedup();
    let mut writer = Writer { run, model, accesses, lives, text: String::new(), layers: 0 };
    writer.channels(cell);
    writer.threads();
    writer.follows();
    writer.locks();
    writer.orders();
    writer.registers();
    writer.semaphores();
    writer.waits();
    let asked = writer.patterns();
    Script { text: writer.text, asked }
}

/// An event at a stretch of memory: what it has to find there, and what it leaves.
type Touch = (String, Option<Value>, Option<Value>);

struct Writer<'a> {
    run: &'a Run,
    model: &'a Model,
    accesses: Vec<Access>,
    lives: Vec<u32>,
    text: String,
    /// How many processes the threads run beside so far.
    layers: u32,
}

/// Puts a line down.
macro_rules! line {
    ($writer:expr, $($rest:tt)*) => {{
        // Text takes all that is written.
        let _ = writeln!($writer.text, $($rest)*);
    }};
}

const fn channel(writes: bool, atomic: bool) -> &'static str {
    match (writes, atomic) {
        (false, false) => "read",
        (true, false) => "write",
        (false, true) => "aread",
        (true, true) => "awrite",
    }
}

impl Writer<'_> {
    fn channels(&mut self, cell: &Cell) {
        let names = |letter: char, count: usize| {
            let names: Vec<String> = (0..count.max(1)).map(|number| format!("{letter}{number}")).collect();
            names.join(" | ")
        };
        let longest = self.model.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.accesses.len());
        let objects = self.model.semaphores.len() + self.model.conditions.len();
        line!(self, "-- The orders that a run's events can have, for races at {:#x}.", cell.address);
        line!(self, "-- An assertion fails if two threads race there; what comes before is the witness.\n");
        for (row, t) in (0..self.model.threads()).map(|row| (row, self.run.id(row).0)) {
            line!(self, "-- t{row}: thread {t}");
        }
        for (number, lock) in self.model.locks.iter().enumerate() {
            line!(self, "-- m{number}: the lock at {:#x}", lock.address);
        }
        let semaphores = self.model.semaphores.iter().map(|semaphore| ("semaphore", semaphore.address));
        let conditions = self.model.conditions.iter().map(|&address| ("condition variable", address));
        for (number, (what, address)) in semaphores.chain(conditions).enumerate() {
            line!(self, "-- o{number}: the {what} at {address:#x}");
        }
        line!(self, "\ndatatype T = {}", names('t', self.model.threads()));
        line!(self, "datatype L = {}", names('m', self.model.locks.len()));
        line!(self, "datatype O = {}", names('o', objects));
        line!(self, "datatype V = {}", names('v', self.lives.len()));
        line!(self, "nametype K = {{0..{longest}}}");
        line!(self, "channel read, write, aread, awrite : T.V.K");
        line!(self, "channel lock, unlock, rlock, runlock : T.L");
        line!(self, "channel fork, join : T.T.K");
        line!(self, "channel step, done, touch, begin, wake : T.K");
        if self.model.control {
            line!(self, "channel taint : T.K");
        }
        line!(self, "channel post, wait, signal : T.O");
        line!(self, "channel race\n");
    }

    /// The event with which an operation waits for others.
    fn step(&self, (thread, at): At) -> String {
        let row = |child| (0..self.model.threads()).find(|&row| self.run.id(row) == child).unwrap_or(0);
        let op = self.run.event(self.model.op((thread, at)).event).op;
        if let Event::Fork { child } = op {
            return format!("fork.t{thread}.t{}.{at}", row(child));
        }
        if let Event::Join { child } = op {
            return format!("join.t{thread}.t{}.{at}", row(child));
        }
        format!("step.t{thread}.{at}")
    }

    /// What an operation does besides waiting and being waited for.
    fn act(&self, (thread, at): At) -> Option<String> {
        let semaphores = self.model.semaphores.len() as u32;
        Some(match self.model.op((thread, at)).act {
            Act::Step => return None,
            Act::Take { lock, mode: LockMode::Write } => format!("lock.t{thread}.m{lock}"),
            Act::Take { lock, mode: LockMode::Read } => format!("rlock.t{thread}.m{lock}"),
            Act::Give { lock, mode: LockMode::Write } => format!("unlock.t{thread}.m{lock}"),
            Act::Give { lock, mode: LockMode::Read } => format!("runlock.t{thread}.m{lock}"),
            Act::Touch(_) if self.model.control => return None,
            Act::Touch(_) => format!("touch.t{thread}.{at}"),
            Act::Post { semaphore } => format!("post.t{thread}.o{semaphore}"),
            Act::Draw { semaphore } => format!("wait.t{thread}.o{semaphore}"),
            Act::Signal { condition } => format!("signal.t{thread}.o{}", semaphores + condition),
            Act::Await { .. } => format!("begin.t{thread}.{at}"),
            Act::Wake { .. } => format!("wake.t{thread}.{at}"),
        })
    }

    /// Whether it matters whether an operation is tainted, so that an event tells it.
    fn may_taint(&self, at: At) -> bool {
        let op = self.model.op(at);
        let followed = || self.operations().any(|other| self.model.follows(other).contains(&at));
        let touches = matches!(op.act, Act::Touch(_)) || op.decides || !self.model.follows(at).is_empty();
        self.model.control && (touches || followed())
    }

    fn operations(&self) -> impl Iterator<Item = At> + '_ {
        let rows = (0u32..).zip(&self.model.rows);
        rows.flat_map(|(thread, row)| (0..row.len() as u32).map(move |at| (thread, at)))
    }

    /// The event behind which an operation has happened.
    fn happened(&self, (thread, at): At) -> String {
        if self.act((thread, at)).is_some() || self.may_taint((thread, at)) {
            format!("done.t{thread}.{at}")
        } else {
            self.step((thread, at))
        }
    }

    /// The events of an operation: up to where it is told whether it is tainted, and behind that.
    fn events(&self, at: At) -> [Vec<String>; 2] {
        let act = self.act(at);
        let touches = matches!(self.model.op(at).act, Act::Touch(_));
        let waits = !self.model.needs(at).is_empty() || act.is_none() && !touches;
        let happens = act.is_some() || self.may_taint(at);
        let wanted = happens && self.model.needs.contains(&at);
        let step = waits.then(|| self.step(at));
        [step.into_iter().chain(act).collect(), wanted.then(|| self.happened(at)).into_iter().collect()]
    }

    /// The event of an access, by its place in the list.
    fn access(&self, index: usize) -> String {
        let Access { target, writes, atomic, life } = self.accesses[index];
        let life = self.lives.iter().position(|&other| other == life).unwrap_or(0);
        format!("{}.t{}.v{life}.{index}", channel(writes, atomic), target.thread)
    }

    fn targets(&self, thread: u32, at: u32, own: bool) -> Vec<usize> {
        let target = Target { thread, at, own };
        (0..self.accesses.len()).filter(|&index| self.accesses[index].target == target).collect()
    }

    fn threads(&mut self) {
        for thread in 0..self.model.threads() as u32 {
            if self.model.control {
                self.thread(thread, false);
                self.thread(thread, true);
                continue;
            }
            let mut text = format!("THREAD{thread} =");
            let length = self.model.rows[thread as usize].len() as u32;
            for at in 0..=length {
                for index in self.targets(thread, at, false) {
                    let _ = write!(text, " {} ->", self.access(index));
                }
                if at == length {
                    break;
                }
                let own = self.targets(thread, at, true);
                if !own.is_empty() {
                    let _ = write!(text, " THREAD{thread}_{at}\nTHREAD{thread}_{at} =");
                    for index in own {
                        let _ = write!(text, " {} -> STOP []", self.access(index));
                    }
                }
                for event in self.events((thread, at)).concat() {
                    let _ = write!(text, " {event} ->");
                }
            }
            line!(self, "{text} STOP");
        }
        let all: Vec<String> = (0..self.model.threads()).map(|thread| format!("THREAD{thread}")).collect();
        line!(self, "PROGRAM0 = {}\n", all.join(" ||| "));
    }

    /// Runs a process beside what there is: they do these events together.
    fn beside(&mut self, events: &str, process: &str) {
        let last = self.layers;
        self.layers += 1;
        line!(self, "PROGRAM{} = PROGRAM{last} [| {events} |] ({process})\n", self.layers);
    }

    /// A thread of which it matters whether it is tainted, as far as it is or is not.
    fn thread(&mut self, thread: u32, tainted: bool) {
        let name = |tainted: bool, at: u32| match (tainted, at) {
            (false, 0) => format!("THREAD{thread}"),
            (false, _) => format!("THREAD{thread}_{at}"),
            (true, _) => format!("TAINTED{thread}_{at}"),
        };
        let length = self.model.rows[thread as usize].len() as u32;
        for at in 0..=length {
            let beside: Vec<String> = self
                .targets(thread, at, false)
                .iter()
                .map(|&index| format!("{} -> ", self.access(index)))
                .collect();
            let mut choices: Vec<String> = self
                .targets(thread, at, true)
                .iter()
                .map(|&index| format!("{} -> STOP", self.access(index)))
                .collect();
            if at < length {
                let Op { decides, .. } = *self.model.op((thread, at));
                let [first, then] = self
                    .events((thread, at))
                    .map(|events| events.iter().map(|event| format!("{event} -> ")).collect::<String>());
                let mut ends = Vec::new();
                if !self.may_taint((thread, at)) {
                    ends.push(format!("{then}{}", name(tainted, at + 1)));
                } else if !tainted {
                    ends.push(format!("touch.t{thread}.{at} -> {then}{}", name(false, at + 1)));
                }
                if self.may_taint((thread, at)) && !decides {
                    ends.push(format!("taint.t{thread}.{at} -> {then}{}", name(true, at + 1)));
                }
                let end = if ends.is_empty() { "STOP".to_owned() } else { ends.join(" [] ") };
                choices.push(if first.is_empty() { end } else { format!("{first}({end})") });
            }
            let choices = if choices.is_empty() { "STOP".to_owned() } else { choices.join(" [] ") };
            line!(self, "{} = {}({choices})", name(tainted, at), beside.concat());
        }
    }

    /// Who follows a tainted operation is tainted.
    fn follows(&mut self) {
        let follows: Vec<(At, At)> = self
            .operations()
            .flat_map(|at| self.model.follows(at).iter().map(move |&followed| (followed, at)))
            .collect();
        for (number, (one, other)) in follows.into_iter().enumerate() {
            let event = |channel: &str, (thread, at): At| format!("{channel}.t{thread}.{at}");
            let [clean, tainted] =
                ["touch", "taint"].map(|channel| [event(channel, one), event(channel, other)]);
            let any = format!("({} -> STOP [] {} -> STOP)", clean[1], tainted[1]);
            line!(self, "FOLLOW{number} = {} -> {any} [] {} -> {} -> STOP", clean[0], tainted[0], tainted[1]);
            let events = [clean, tainted].concat().join(", ");
            self.beside(&format!("{{{events}}}"), &format!("FOLLOW{number}"));
        }
    }

    fn locks(&mut self) {
        let all: Vec<String> = (0..self.model.locks.len()).map(|lock| format!("m{lock}")).collect();
        if all.is_empty() {
            return;
        }
        let readers = self.model.threads();
        line!(self, "MUTEX(m, n) = n == 0 & lock?t!m -> unlock.t.m -> MUTEX(m, 0)");
        line!(self, "  [] n < {readers} & rlock?t!m -> MUTEX(m, n + 1)");
        line!(self, "  [] n > 0 & runlock?t!m -> MUTEX(m, n - 1)");
        let process = format!("||| m:{{{}}} @ MUTEX(m, 0)", all.join(", "));
        self.beside("{| lock, unlock, rlock, runlock |}", &process);
    }

    /// What has to come before what: FORKS, JOINS, and whatever else is so.
    fn orders(&mut self) {
        let mut orders: Vec<(String, String)> = Vec::new();
        for (thread, row) in (0u32..).zip(&self.model.rows) {
            for at in 0..row.len() as u32 {
                let needs = self.model.needs((thread, at)).iter();
                orders.extend(needs.map(|&need| (self.happened(need), self.step((thread, at)))));
            }
        }
        for (index, access) in self.accesses.iter().enumerate() {
            let needs = self.model.target_needs(access.target).iter();
            orders.extend(needs.map(|&need| (self.happened(need), self.access(index))));
        }
        for (number, (first, then)) in orders.into_iter().enumerate() {
            line!(self, "ORDER{number} = {first} -> {then} -> STOP");
            self.beside(&format!("{{{first}, {then}}}"), &format!("ORDER{number}"));
        }
    }

    /// A process for each stretch of memory: a definition for each value that it can have.
    fn registers(&mut self) {
        for (number, register) in self.model.registers.iter().enumerate() {
            let mut values: Vec<Value> = vec![register.first];
            values.extend(register.sets.iter().flatten().map(|&(_, value)| value));
            let event = |thread: usize, at: u32| format!("touch.t{thread}.{at}");
            let asked: Vec<(usize, &[Value])> = (0..self.accesses.len())
                .map(|index| (index, self.model.target_tests(self.accesses[index].target)))
                .collect();
            // By operation: what it has to find here, and what it leaves.
            let mut touches: Vec<Touch> = Vec::new();
            for thread in 0..self.model.threads() {
                let tests = &register.tests[thread];
                let sets = &register.sets[thread];
                let mut places: Vec<u32> = tests.iter().chain(sets).map(|&(at, _)| at).collect();
                places.sort_unstable();
                places.dedup();
                let find = |list: &[(u32, Value)], at: u32| {
                    list.iter().find(|&&(other, _)| other == at).map(|&(_, value)| value)
                };
                touches.extend(places.iter().map(|&at| (event(thread, at), find(tests, at), find(sets, at))));
            }
            for (index, tests) in asked {
                let here = tests.iter().find(|&&value| self.model.register(value) == number);
                touches.extend(here.map(|&value| (self.access(index), Some(value), None)));
            }
            let what = if register.block { "block" } else { "value" };
            line!(self, "-- which {what} is at {:#x}", register.address);
            if self.model.control {
                self.register(number, &values, &touches);
                continue;
            }
            for &value in &values {
                let can = touches.iter().filter(|(_, test, _)| test.is_none_or(|test| test == value));
                let choices: Vec<String> = can
                    .map(|(event, _, set)| format!("{event} -> HELD{number}_{}", set.unwrap_or(value)))
                    .collect();
                let body = if choices.is_empty() { "STOP".to_owned() } else { choices.join(" [] ") };
                line!(self, "HELD{number}_{value} = {body}");
            }
            let events: Vec<&str> = touches.iter().map(|(event, ..)| event.as_str()).collect();
            self.beside(&format!("{{{}}}", events.join(", ")), &format!("HELD{number}_{}", register.first));
        }
    }

    /// A stretch of memory of which it matters whether what it holds is tainted.
    fn register(&mut self, number: usize, values: &[Value], touches: &[Touch]) {
        let block = self.model.registers[number].block;
        let held =
            |foul: bool, value: Value| format!("{}{number}_{value}", if foul { "FOUL" } else { "HELD" });
        let taint = |event: &str| event.strip_prefix("touch").map(|rest| format!("taint{rest}"));
        let mut all: Vec<String> = touches.iter().map(|(event, ..)| event.clone()).collect();
        all.extend(touches.iter().filter_map(|(event, ..)| taint(event)));
        for &value in values {
            for foul in [false, true].into_iter().filter(|foul| !(block && *foul)) {
                let mut choices = Vec::new();
                for (event, test, set) in touches {
                    let finds = test.is_none_or(|test| test == value && !foul);
                    if finds {
                        choices.push(format!(
                            "{event} -> {}",
                            set.map_or(held(foul, value), |set| held(false, set))
                        ));
                    }
                    if let Some(event) = taint(event).filter(|_| finds || !block) {
                        let fouls = |set: Value| held(self.model.values[set as usize].written && !block, set);
                        choices.push(format!("{event} -> {}", set.map_or(held(foul, value), fouls)));
                    }
                }
                let body = if choices.is_empty() { "STOP".to_owned() } else { choices.join(" [] ") };
                line!(self, "{} = {body}", held(foul, value));
            }
        }
        let first = held(false, self.model.registers[number].first);
        self.beside(&format!("{{{}}}", all.join(", ")), &first);
    }

    fn semaphores(&mut self) {
        for (number, semaphore) in self.model.semaphores.iter().enumerate() {
            let post = |row: &Vec<super::model::Op>| {
                row.iter().filter(|op| op.act == Act::Post { semaphore: number as u32 }).count()
            };
            let most = semaphore.first + self.model.rows.iter().map(post).sum::<usize>() as i64;
            line!(self, "SEMAPHORE{number}(n) = n < {most} & post?t!o{number} -> SEMAPHORE{number}(n + 1)");
            line!(self, "  [] n > 0 & wait?t!o{number} -> SEMAPHORE{number}(n - 1)");
            let all = |channel: &str| -> Vec<String> {
                (0..self.model.threads()).map(|thread| format!("{channel}.t{thread}.o{number}")).collect()
            };
            let events = [all("post"), all("wait")].concat().join(", ");
            self.beside(&format!("{{{events}}}"), &format!("SEMAPHORE{number}({})", semaphore.first));
        }
    }

    fn waits(&mut self) {
        for (number, wait) in self.model.waits.iter().enumerate() {
            let object = self.model.semaphores.len() as u32 + wait.condition;
            let place =
                |channel: &str, at: Option<At>| at.map(|(thread, at)| format!("{channel}.t{thread}.{at}"));
            let (begin, wake) = (place("begin", wait.begin), place("wake", wait.end));
            let signal = |then: &str| format!("signal?t!o{object} -> {then}{number}");
            let next = |event: &Option<String>, then: &str| {
                event.as_ref().map_or(String::new(), |event| format!(" [] {event} -> {then}{number}"))
            };
            line!(self, "IDLE{number} = {}{}", signal("IDLE"), next(&begin, "WAITS"));
            line!(self, "WAITS{number} = {}", signal("REACHED"));
            line!(self, "REACHED{number} = {}{}", signal("REACHED"), next(&wake, "IDLE"));
            let signals = (0..self.model.threads()).map(|thread| format!("signal.t{thread}.o{object}"));
            let events: Vec<String> = begin.into_iter().chain(wake).chain(signals).collect();
            let first = match wait.first {
                Waiting::Not => "IDLE",
                Waiting::Begun => "WAITS",
                Waiting::Reached => "REACHED",
            };
            self.beside(&format!("{{{}}}", events.join(", ")), &format!("{first}{number}"));
        }
    }

    /// The race that is asked for, for each two threads that can have one.
    fn patterns(&mut self) -> Vec<(usize, usize, u32)> {
        let mut kinds = [(false, false), (true, false), (false, true), (true, true)].to_vec();
        kinds.retain(|&kind| self.accesses.iter().any(|access| (access.writes, access.atomic) == kind));
        let mode = |writes: bool| {
            if writes { deadheat_core::access::Mode::Write } else { deadheat_core::access::Mode::Read }
        };
        let conflict =
            |one: (bool, bool), other: (bool, bool)| conflicts(mode(one.0), one.1, mode(other.0), other.1);
        line!(self, "ALL = diff(Events, {{race}})");
        let mut errors = Vec::new();
        for &one in &kinds {
            for &other in kinds.iter().filter(|&&other| conflict(one, other)) {
                for (a, b) in [("a", "b"), ("b", "a")] {
                    let (one, other) = (channel(one.0, one.1), channel(other.0, other.1));
                    errors.push(format!("{one}.{a}.v?k -> {other}.{b}.v?l -> race -> STOP"));
                }
            }
        }
        if errors.is_empty() {
            errors.push("STOP".to_owned());
        }
        line!(self, "ERROR(a, b, v) =\n     {}", errors.join("\n  [] "));
        line!(self, "PATTERN(a, b, v) = ERROR(a, b, v) /\\ ([] e:ALL @ e -> PATTERN(a, b, v))");
        line!(self, "SYSTEM(a, b, v) = (PROGRAM{} [| ALL |] PATTERN(a, b, v)) \\ ALL\n", self.layers);
        let mut asked = Vec::new();
        for (number, &life) in self.lives.iter().enumerate() {
            for one in 0..self.model.threads() {
                for other in one + 1..self.model.threads() {
                    let of = |thread: usize| {
                        self.accesses.iter().filter(move |access| {
                            access.target.thread as usize == thread && access.life == life
                        })
                    };
                    let can = of(one)
                        .any(|a| of(other).any(|b| conflict((a.writes, a.atomic), (b.writes, b.atomic))));
                    if can {
                        asked.push((one, other, life));
                        let _ = writeln!(self.text, "assert STOP [T= SYSTEM(t{one}, t{other}, v{number})");
                    }
                }
            }
        }
        asked
    }
}
