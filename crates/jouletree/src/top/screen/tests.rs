//! What is drawn, at several sizes, letter by letter.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::samples::{busy_view, estimated_view};
use super::*;
use crate::top::input::Action;

fn drawn(view: &View, choices: &Choices, width: u16, height: u16, theme: Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, choices, theme)).unwrap();
    terminal
}

fn text(view: &View, choices: &Choices, width: u16, height: u16) -> String {
    let terminal = drawn(view, choices, width, height, Theme { has_colour: true });
    let cells = terminal.backend().buffer().content();
    let lines =
        cells.chunks(usize::from(width)).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Compares with the file of that name; `JOULETREE_BLESS=1` writes it.
fn assert_is(name: &str, drawn: &str) {
    let path = format!("{}/src/top/screen/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("JOULETREE_BLESS").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(drawn, expected, "\n{name} is drawn as\n{drawn}\nand should be\n{expected}");
}

#[test]
fn a_tree_at_three_sizes() {
    let (view, choices) = (busy_view(), Choices::default());
    for (width, height) in [(80, 24), (140, 40), (40, 10)] {
        assert_is(&format!("tree-{width}x{height}"), &text(&view, &choices, width, height));
    }
}

#[test]
fn a_machine_without_a_meter_at_three_sizes() {
    let (view, choices) = (estimated_view(), Choices::default());
    for (width, height) in [(80, 24), (140, 40), (40, 10)] {
        let drawn = text(&view, &choices, width, height);
        assert!(drawn.lines().next().unwrap().contains("estimated"), "{drawn}");
        assert_is(&format!("machine-{width}x{height}"), &drawn);
    }
}

#[test]
fn the_help_lies_over_everything() {
    let (view, mut choices) = (busy_view(), Choices::default());
    choices.apply(Action::Help, &view);
    assert_is("help-80x24", &text(&view, &choices, 80, 24));
}

#[test]
fn any_size_can_be_drawn() {
    let busy = busy_view();
    let mut empty = busy_view();
    (empty.devices, empty.sockets, empty.processes, empty.tree) = (Vec::new(), Vec::new(), Vec::new(), None);
    let choices = [Choices::default(), Choices { help: true, scroll: 1000, ..Choices::default() }];
    for view in [&busy, &empty] {
        for choices in &choices {
            for (width, height) in (0..45).flat_map(|width| (0..15).map(move |height| (width, height))) {
                drawn(view, choices, width, height, Theme { has_colour: true });
            }
        }
    }
}

#[test]
fn the_last_process_can_be_reached_and_sorting_is_shown() {
    let (view, mut choices) = (busy_view(), Choices::default());
    let last = view.processes.last().unwrap().pid.to_string();
    assert!(!text(&view, &choices, 80, 14).contains(&last));
    choices.apply(Action::End, &view);
    assert!(text(&view, &choices, 80, 14).contains(&last));
    choices.apply(Action::Sort, &view);
    assert!(text(&view, &choices, 80, 14).contains("joules▾"));
}

#[test]
fn without_colour_everything_is_still_said() {
    let view = busy_view();
    let colours = |has_colour: bool| {
        let terminal = drawn(&view, &Choices::default(), 80, 24, Theme { has_colour });
        terminal.backend().buffer().content().iter().filter(|cell| cell.fg != Color::Reset).count()
    };
    assert!(colours(true) > 0);
    assert_eq!(colours(false), 0);
    assert!(text(&view, &Choices::default(), 80, 24).contains("measured"));
}

#[test]
fn when_the_screen_is_short_parts_go_first() {
    let drawn = text(&busy_view(), &Choices::default(), 80, 11);
    assert!(drawn.contains("gpu:0") && !drawn.contains("  core"), "{drawn}");
}

#[test]
fn threads_of_the_kernel_that_did_nothing_are_left_out() {
    let mut view = busy_view();
    let thread = |pid, command: &str, joules| {
        let mut entry = view.processes[0].clone();
        (entry.pid, entry.command, entry.energy) = (pid, command.to_owned(), jouletree_model::Joules(joules));
        entry
    };
    let threads =
        [thread(9001, "[idle_thread]", 0.0), thread(9002, "[busy_thread]", 1.0), thread(9003, "resting", 0.0)];
    view.processes = threads.to_vec();
    let drawn = text(&view, &Choices::default(), 80, 24);
    assert!(!drawn.contains("idle_thread"), "{drawn}");
    assert!(
        drawn.contains("busy_thread") && drawn.contains("resting") && drawn.contains("command (2;"),
        "{drawn}"
    );
}
