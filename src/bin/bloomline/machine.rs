//! `bloomline machine`: this computer as filters see it.

use std::io::Write;

use bloomline::Level;
use bloomline::machine::{Cache, Machine};
use serde::Serialize;

use crate::table::{self, Align, Table};
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report<'a> {
    cpu_model: Option<&'a str>,
    logical_cpus: u32,
    usable_cpus: u32,
    virtual_machine: bool,
    line_bytes: u32,
    l1d_bytes: u64,
    l2_bytes: u64,
    l3_bytes: Option<u64>,
    l3_shared_by_cpus: Option<u32>,
    l3_share_bytes: u64,
    page_bytes: u64,
    huge_page_bytes: Option<u64>,
    transparent_huge_pages: &'a str,
    memory_bytes: u64,
    cgroup_limit_bytes: Option<u64>,
    memory_cap_bytes: u64,
    assumed: &'a [&'static str],
    levels_available: Vec<&'static str>,
    level_chosen: &'static str,
}

impl<'a> Report<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self {
            cpu_model: machine.cpu_model.as_deref(),
            logical_cpus: machine.logical_cpus,
            usable_cpus: machine.usable_cpus,
            virtual_machine: machine.virtual_machine,
            line_bytes: machine.l1d.line_bytes,
            l1d_bytes: machine.l1d.bytes,
            l2_bytes: machine.l2.bytes,
            l3_bytes: machine.l3.map(|l3| l3.bytes),
            l3_shared_by_cpus: machine.l3.map(|l3| l3.shared_by),
            l3_share_bytes: machine.l3_share_bytes,
            page_bytes: machine.page_bytes,
            huge_page_bytes: machine.huge_page_bytes,
            transparent_huge_pages: machine.transparent_huge_pages.name(),
            memory_bytes: machine.memory_bytes,
            cgroup_limit_bytes: machine.cgroup_limit_bytes,
            memory_cap_bytes: machine.memory_cap(),
            assumed: &machine.assumed,
            levels_available: Level::available().iter().map(|level| level.name()).collect(),
            level_chosen: Level::get().name(),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let machine = Machine::get();
    if args.json {
        report::write_json(out, &Report::new(machine))?;
    } else {
        write!(out, "{}", text(machine))?;
    }
    Ok(Outcome::Done)
}

fn text(machine: &Machine) -> String {
    let line = |name: &str, value: &str| format!("{name:<14}{value}\n");
    let model = machine.cpu_model.as_deref().unwrap_or("unknown");
    let guest = if machine.virtual_machine { ", virtual machine" } else { "" };
    let mut text = line("processor", &format!("{model}{guest}"));
    text += &line("CPUs", &format!("{}, of which usable {}", machine.logical_cpus, machine.usable_cpus));
    let levels: Vec<&str> = Level::available().iter().map(|level| level.name()).collect();
    let chosen = Level::get();
    let by = if chosen == Level::best() { "the best" } else { "asked for by BLOOMLINE_ISA" };
    text += &line("levels", &levels.join(", "));
    text += &line("level chosen", &format!("{chosen} ({by})"));

    let mut caches = Table::new([
        ("cache", Align::Left),
        ("size", Align::Right),
        ("line", Align::Right),
        ("CPUs", Align::Right),
        ("filters up to", Align::Right),
    ]);
    let mut row = |name: &str, cache: Cache, tier: u64| {
        caches.row([
            name.to_owned(),
            table::bytes(cache.bytes),
            table::bytes(u64::from(cache.line_bytes)),
            cache.shared_by.to_string(),
            table::bytes(tier),
        ]);
    };
    row("L1d", machine.l1d, machine.l1d.bytes);
    row("L2", machine.l2, machine.l2.bytes);
    if let Some(l3) = machine.l3 {
        row("L3", l3, machine.l3_share_bytes);
    }
    text += &format!("\n{caches}\n");

    text += &line("pages", &table::bytes(machine.page_bytes));
    let huge = machine.huge_page_bytes.map_or_else(|| "none".to_owned(), table::bytes);
    text += &line("huge pages", &format!("{huge}, transparent: {}", machine.transparent_huge_pages));
    text += &line("memory", &table::bytes(machine.memory_bytes));
    let limit = machine.cgroup_limit_bytes.map_or_else(|| "none".to_owned(), table::bytes);
    text += &line("cgroup limit", &limit);
    text += &line("filter cap", &format!("{} (half of the smaller of the two)", table::bytes(machine.memory_cap())));
    if !machine.assumed.is_empty() {
        text += &line("assumed", &format!("{} (could not be read)", machine.assumed.join(", ")));
    }
    text
}
