//! Condition variables.
//!
//! Rule: a signal is seen by the threads that were waiting when it came, and by nobody else; a
//! wait that timed out has seen nothing. Which of several waiters a single signal woke cannot
//! be told from the trace, so each of them that was woken counts as having seen it.

use deadheat_core::ids::ThreadId;

use super::vector::Clock;

/// One condition variable.
#[derive(Debug, Default)]
pub struct Condition {
    waiters: Vec<(ThreadId, Clock)>,
}

impl Condition {
    /// A thread begins to wait.
    pub fn begin(&mut self, thread: ThreadId) {
        self.waiters.retain(|(waiter, _)| *waiter != thread);
        self.waiters.push((thread, Clock::default()));
    }

    /// A signal or a broadcast comes from a thread that knows `clock`; `true` if anyone waits.
    pub fn signal(&mut self, clock: &Clock) -> bool {
        for (_, seen) in &mut self.waiters {
            seen.join(clock);
        }
        !self.waiters.is_empty()
    }

    /// A thread's wait ends; what was signalled meanwhile.
    pub fn end(&mut self, thread: ThreadId) -> Option<Clock> {
        let index = self.waiters.iter().position(|(waiter, _)| *waiter == thread)?;
        Some(self.waiters.swap_remove(index).1)
    }
}
