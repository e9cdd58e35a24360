//! The short way through plain accesses.

use deadheat_core::plain::Plain;
use deadheat_core::rule::Epoch;

use super::cache::{Label, Table};
use super::cell::{Cell, Moment};
use super::crowd::{Crowds, Sort};
use super::judge::Passing;
use super::sites::{Site, Sites};
use super::{Hb, look_up};
use crate::clock::threads::Thread;
use crate::how::How;

impl Hb {
    /// Takes the plain accesses of a thread one after the other, as long as each is the case that
    /// most are: bytes of one block that is cut at their bounds, and soon found not to race. Says
    /// how many it took; of the next, some cells may have taken the step already, and take it
    /// again without effect.
    ///
    /// Its simple model is [`Self::judge`], which does the same for any access. What is here in full is the case
    /// of one cell of a near block that is no crowd, or a crowd that stays as it is; all else is out of the common way.
    pub(super) fn quick(&mut self, row: usize, accesses: &[Plain]) -> usize {
        let clock = self.order.threads.now(row);
        let thread = self.order.threads.row(row);
        let (slot, seen) = (thread.slot, &thread.clock);
        let now = Epoch { thread: slot, clock };
        let table = self.cache.table(slot, row);
        let Self { shadow, sites, crowds, .. } = self;
        for (done, access) in accesses.iter().enumerate() {
            let writes = access.form.writes();
            if let Some(cell) = shadow.near_cell(access.address, access.form.size()) {
                if cell.is_crowd() {
                    if crowds.stays(*cell, now, Sort::plain(writes)) {
                        continue;
                    }
                } else {
                    let (write, read) = (sites.epoch(cell.write()), sites.epoch(cell.read()));
                    // The thread's own epochs are among those that it has seen.
                    if seen.covers(write) & seen.covers(read) {
                        let again = if writes {
                            write == now && (read == now || cell.read() == Moment::NONE)
                        } else {
                            read == now
                        };
                        // What is not written need not be written back to memory.
                        if !again {
                            let moment = Moment::new(known_site(access, thread, table, sites), clock);
                            if writes { cell.set_written(moment) } else { cell.set_read(moment) }
                        }
                        continue;
                    }
                }
            }
            let Some(cells) = shadow.cells(access.address, access.form.size()) else { return done };
            let passing = Passing { now, writes, clock: seen };
            let stepped = match cells {
                [cell] => step_cell(cell, &passing, (access, thread), table, (sites, crowds)),
                cells => step_cells(cells, &passing, (access, thread), table, (sites, crowds)),
            };
            if !stepped {
                return done;
            }
        }
        accesses.len()
    }
}

/// Steps one cell on, most often a crowd, if the access races with nothing that it remembers and that is soon found out.
#[inline(never)]
fn step_cell(
    cell: &mut Cell,
    passing: &Passing<'_>,
    (access, thread): (&Plain, &Thread),
    table: &mut Table,
    (sites, crowds): (&mut Sites, &mut Crowds),
) -> bool {
    let site = known_site(access, thread, table, sites);
    if cell.is_crowd() {
        return passing.step_crowd((cell, 1), Moment::new(site, passing.now.clock), crowds);
    }
    passing.step((cell, 1), (sites, crowds), |_| site)
}

/// Steps the cells of one access on, if it races with nothing that they remember and that is soon found out. What is
/// here in full is the case of cells that are all alike and no crowd.
#[inline(never)]
fn step_cells(
    cells: &mut [Cell],
    passing: &Passing<'_>,
    (access, thread): (&Plain, &Thread),
    table: &mut Table,
    (sites, crowds): (&mut Sites, &mut Crowds),
) -> bool {
    let Passing { now, writes, clock } = *passing;
    if let Some((first, rest)) = cells.split_first_mut()
        && !first.is_crowd()
        && rest.iter().all(|cell| cell == first)
    {
        let (write, read) = (sites.epoch(first.write()), sites.epoch(first.read()));
        if clock.covers(write) & clock.covers(read) {
            let again = read == now || (writes && first.read() == Moment::NONE);
            if !again || (writes && write != now) {
                let moment = Moment::new(known_site(access, thread, table, sites), now.clock);
                if writes {
                    first.set_written(moment)
                } else {
                    first.set_read(moment)
                }
                rest.fill(*first);
            }
            return true;
        }
    }
    step_each(cells, passing, (access, thread), table, (sites, crowds))
}

/// The same one after the other.
#[inline(never)]
fn step_each(
    cells: &mut [Cell],
    passing: &Passing<'_>,
    (access, thread): (&Plain, &Thread),
    table: &mut Table,
    (sites, crowds): (&mut Sites, &mut Crowds),
) -> bool {
    let mut found = None;
    let mut site = |sites: &mut Sites| *found.get_or_insert_with(|| known_site(access, thread, table, sites));
    let mut known: Option<(Cell, Cell)> = None;
    let mut step =
        |cell: &mut Cell| passing.step_known(cell, (&mut *sites, &mut *crowds), &mut site, &mut known);
    cells.iter_mut().all(&mut step)
}

/// The site of an access.
#[inline(always)]
fn known_site(access: &Plain, thread: &Thread, table: &mut Table, sites: &mut Sites) -> u32 {
    let &Plain { place, stack, .. } = access;
    let how = How::of_power(access);
    let label = Label::new(place, stack, how, thread.locks);
    match table.find(label, sites) {
        Some(site) => site,
        None => new_site(label, how, access, thread, table, sites),
    }
}

#[cold]
#[inline(never)]
fn new_site(
    label: Label,
    how: How,
    access: &Plain,
    thread: &Thread,
    table: &mut Table,
    sites: &mut Sites,
) -> u32 {
    let &Plain { place, stack, .. } = access;
    let &Thread { slot, id: thread, locks, .. } = thread;
    look_up(table, sites, label, Site { slot, thread, place, stack, locks, how })
}
