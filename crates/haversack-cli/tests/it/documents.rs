//! X7, X8: documents as people have them, through the program: its readers run in processes of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::server::RunningServer;
use crate::{TestFolder, err, json, out};

fn check(folder: &TestFolder, args: &[&str], code: i32) -> std::process::Output {
    let output = folder.run(&[&["--data", "data"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
    output
}

/// A PDF of one line of text a page.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut kids = String::new();
    for text in pages {
        let page = objects.len() + 1;
        kids.push_str(&format!("{page} 0 R "));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            page + 1
        ));
        let stream = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len());
    let mut file = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        offsets.push(file.len());
        file.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let table = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    file.push_str(&format!(
        "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    file.into_bytes()
}

const PAGE: &str = "<html><head><title>Opening hours</title><script>var x = 'never';</script></head>\
    <body><nav>Home Shop Contact</nav><main><h1>Opening hours</h1><p>The bakery in the old harbour opens at \
    six in the morning, on Sundays at eight, and it closes when the last loaf is sold.</p></main></body></html>";

const MAIL: &str = "From: Anna Berg <anna@example.com>\r\nTo: ben@example.com\r\nSubject: The boiler\r\n\
    Date: Mon, 4 May 2026 10:00:00 +0200\r\nMessage-ID: <one@example.com>\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\r\nThe boiler was repaired on Friday and it cost 240 euros.\r\n";

const NOTEBOOK: &str = r##"{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "python"}},
  "cells": [{"cell_type": "markdown", "source": ["# Sales by region\n", "North is ahead."]},
            {"cell_type": "code", "source": "print(total)", "outputs": [
              {"output_type": "stream", "text": ["41 ships\n"]}]}]}"##;

const CHAT: &str = r#"{"name": "Harbour group", "type": "private_group", "id": 7, "messages": [
  {"id": 1, "type": "message", "date": "2026-05-04T10:00:00", "date_unixtime": "1777881600", "from": "Anna",
   "from_id": "user1", "text": "Who feeds the harbour cat?", "text_entities": []},
  {"id": 2, "type": "message", "date": "2026-05-04T10:01:00", "date_unixtime": "1777881660", "from": "Ben",
   "from_id": "user2", "text": "Clara does, every evening at seven.", "text_entities": []}]}"#;

fn sample() -> TestFolder {
    let folder = TestFolder::new("documents");
    fs::create_dir(folder.0.join("box")).unwrap();
    let pages =
        ["The lighthouse keeper is called Ingrid.", "The ferry leaves at 7.40 from pier four."];
    folder.file("box/harbour.pdf", pdf(&pages));
    folder.file("box/bakery.html", PAGE);
    folder.file("box/boiler.eml", MAIL);
    folder.file("box/sales.ipynb", NOTEBOOK);
    folder.file("box/result.json", CHAT);
    folder.file(
        "box/cafe.txt",
        b"Das Caf\xe9 liegt in der Hafenstra\xdfe neben der gro\xdfen M\xfchle.",
    );
    folder.file("box/broken.pdf", &pdf(&pages)[..300]);
    folder
}

#[test]
fn a_folder_of_mixed_documents_is_added_and_answered_from_x8() {
    let folder = sample();
    let added = check(&folder, &["add", "box"], 0);
    assert!(err(&added).contains("skipped: box/broken.pdf: damaged"), "{}", err(&added));
    for (question, item, expected) in [
        ("When does the ferry leave?", "box/harbour.pdf", "pier four"),
        ("When does the bakery open?", "box/bakery.html", "opens at six"),
        ("What did the boiler repair cost?", "box/boiler.eml", "240 euros"),
        ("Which region is ahead in sales?", "box/sales.ipynb", "North is ahead"),
        ("Who feeds the harbour cat?", "box/result.json#2", "Clara does"),
        ("Wo liegt das Café?", "box/cafe.txt", "Hafenstraße"),
    ] {
        let packed = check(&folder, &["pack", question, "--budget", "900", "--json"], 0);
        let document = json(&packed);
        let text = document["context"].as_str().unwrap();
        assert!(text.contains(expected), "{question}: {text}");
        assert!(!text.contains("never") && !text.contains("Home Shop"), "{text}");
        let found = check(&folder, &["search", question, "--json", "--limit", "20"], 0);
        assert!(out(&found).contains(&format!("\"{item}\"")), "{question}: {}", out(&found));
    }
    // A citation names the page.
    let found = check(&folder, &["search", "When does the ferry leave?", "--limit", "1"], 0);
    assert!(out(&found).contains("box/harbour.pdf, page"), "{}", out(&found));
    // The second run reads nothing, and says again only what cannot be read.
    let again = check(&folder, &["add", "box"], 0);
    assert!(out(&again).contains("stored 0 items"), "{}", out(&again));
    assert!(!err(&again).contains("note:"), "{}", err(&again));
    // A touched file is not read again; a changed one is.
    let file = fs::File::options().write(true).open(folder.0.join("box/harbour.pdf")).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    assert!(out(&check(&folder, &["add", "box"], 0)).contains("stored 0 items"));
    folder.file("box/harbour.pdf", pdf(&["The ferry was sold to Iceland."]));
    assert!(out(&check(&folder, &["add", "box"], 0)).contains("stored 1 items"));
}

#[test]
fn what_is_left_out_of_many_files_is_one_note_x8() {
    let folder = TestFolder::new("omissions");
    fs::create_dir(folder.0.join("pages")).unwrap();
    for number in 0..5 {
        folder.file(&format!("pages/{number}.html"), PAGE);
    }
    let lost = "<nav>Home Shop Contact and a hundred further words of a menu</nav>".repeat(40);
    folder.file("pages/lost.html", format!("<body>{lost}<main>Soup of the day.</main></body>"));
    let saved = "From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n\
                 <main><h1>Herons</h1><p>They stand in the water.</p></main>";
    folder.file("pages/boxed.mhtml", saved);
    folder.file("pages/letter.rtf", r"{\rtf1\ansi Dear harbour master,\par the crane creaks.}");
    let added = check(&folder, &["add", "pages", "--json"], 0);
    let notes: Vec<String> =
        err(&added).lines().filter(|line| line.starts_with("note:")).map(str::to_owned).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("pages/lost.html"), "hardly anything is left of it: {notes:?}");
    let expected = "note: menus, banners and forms of web pages left out of 5 files (";
    assert!(notes[1].starts_with(expected), "{notes:?}");
    let document = json(&added);
    assert_eq!(document["leftOut"][0]["files"], 5);
    assert_eq!(document["leftOut"][0]["notes"].as_array().unwrap().len(), 5);
    assert_eq!(document["stored"], 8);
    fs::rename(folder.0.join("pages"), folder.0.join("again")).unwrap();
    let verbose = check(&folder, &["add", "again", "--verbose"], 0);
    let lines = err(&verbose).lines().filter(|line| line.starts_with("note: again/")).count();
    assert_eq!(lines, 6, "{}", err(&verbose));
    for (question, expected) in
        [("What do herons do?", "stand in the water"), ("What creaks?", "the crane creaks")]
    {
        let packed = check(&folder, &["pack", question, "--budget", "900"], 0);
        assert!(out(&packed).contains(expected), "{question}: {}", out(&packed));
    }
}

/// `haversack watch`, killed at the end of the test.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Watch {
    /// Follows `notes` into the workspace of the folder `data`, and gives what it prints.
    fn start(folder: &TestFolder, more: &[&str]) -> (Watch, impl Iterator<Item = String>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
        command.args(["watch", "notes"]).args(more).current_dir(&folder.0);
        command.env("HAVERSACK_DATA", folder.0.join("data"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut watch = Watch(child);
        let output = BufReader::new(watch.0.stdout.take().unwrap());
        (watch, output.lines().map(Result::unwrap))
    }
}

/// Waits until a watcher prints a line that contains a text. The watcher says what it does, so nothing sleeps.
fn wait_for(lines: &mut impl Iterator<Item = String>, expected: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    for line in lines {
        if line.contains(expected) {
            return line;
        }
        assert!(Instant::now() < until, "no line with {expected:?}, at last: {line}");
    }
    panic!("it ended without a line with {expected:?}");
}

#[test]
fn a_watched_folder_is_followed_x8() {
    for poll in [&[][..], &["--poll=1"][..]] {
        let folder = TestFolder::new("watch");
        fs::create_dir_all(folder.0.join("notes/ignored")).unwrap();
        folder.file("notes/one.md", "# One\n\nThe first note is about herons.\n");
        folder.file("notes/.gitignore", "ignored/\n");
        folder.file("notes/ignored/no.md", "not this\n");
        let (child, mut lines) = Watch::start(&folder, poll);
        wait_for(&mut lines, "1 stored, 0 deleted");
        fs::create_dir(folder.0.join("notes/deep")).unwrap();
        folder.file("notes/deep/two.md", "# Two\n\nThe second note is about kestrels.\n");
        wait_for(&mut lines, "1 stored, 0 deleted");
        // Editors save by renaming.
        folder.file("notes/deep/.two.tmp", "# Two\n\nNow it is about falcons.\n");
        fs::rename(folder.0.join("notes/deep/.two.tmp"), folder.0.join("notes/deep/two.md"))
            .unwrap();
        wait_for(&mut lines, "1 stored, 0 deleted");
        fs::rename(folder.0.join("notes/one.md"), folder.0.join("notes/first.md")).unwrap();
        wait_for(&mut lines, "1 stored, 1 deleted");
        fs::remove_dir_all(folder.0.join("notes/deep")).unwrap();
        wait_for(&mut lines, "0 stored, 1 deleted");
        drop(child);
        let listed = check(&folder, &["list", "--json"], 0);
        assert!(out(&listed).contains("notes/first.md") && !out(&listed).contains("two.md"));
    }
}

#[test]
fn after_a_change_only_what_changed_is_looked_at_x8() {
    let folder = TestFolder::new("watch-part");
    fs::create_dir_all(folder.0.join("notes/deep/er")).unwrap();
    for (name, text) in [("one.md", "herons"), ("one.md.txt", "cranes"), ("deep/er/two.md", "owls")]
    {
        folder.file(&format!("notes/{name}"), format!("A note about {text}.\n"));
    }
    folder.file("notes/deep/rows.jsonl", "{\"text\":\"rice\"}\n{\"text\":\"soup\"}\n");
    let (child, mut lines) = Watch::start(&folder, &[]);
    let mut next = |expected: &str| wait_for(&mut lines, expected);
    next("5 stored, 0 deleted, 0 unchanged");
    // A look at everything would find the others unchanged.
    folder.file("notes/deep/er/three.md", "A note about kestrels.\n");
    next("1 stored, 0 deleted, 0 unchanged");
    fs::remove_file(folder.0.join("notes/one.md")).unwrap();
    next("0 stored, 1 deleted, 0 unchanged");
    folder.file("notes/deep/rows.jsonl", "{\"text\":\"rice\"}\n");
    next("1 deleted");
    fs::rename(folder.0.join("notes/deep/er"), folder.0.join("notes/moved")).unwrap();
    next("2 stored, 2 deleted, 0 unchanged");
    // The moved folder is watched under its new name, and a folder that came back is another one.
    folder.file("notes/moved/two.md", "A note about buzzards.\n");
    next("1 stored, 0 deleted, 0 unchanged");
    // What is ignored from now on is deleted; the rules of the folders above hold.
    folder.file("notes/moved/.gitignore", "three.md\n");
    next("0 stored, 1 deleted, 1 unchanged");
    folder.file("notes/moved/three.md", "ignored\n");
    folder.file("notes/moved/four.md", "A note about eagles.\n");
    next("1 stored, 0 deleted, 0 unchanged");
    folder.file("notes/.ignore", "moved\n");
    next("0 stored, 2 deleted, 2 unchanged");
    drop(child);
    let listed = out(&check(&folder, &["list"], 0));
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), 2, "{listed}");
    assert!(ids.contains(&"notes/one.md.txt"), "{listed}");
    // The next look at everything agrees.
    let again = out(&check(&folder, &["add", "notes"], 0));
    assert!(again.contains("stored 0 items") && !again.contains("gone"), "{again}");
}

#[test]
fn a_folder_is_followed_through_a_running_server_x8() {
    let folder = TestFolder::new("watch-server");
    fs::create_dir_all(folder.0.join("notes")).unwrap();
    folder.file("notes/one.md", "A note about herons.\n").file("notes/two.md", "About owls.\n");
    let _server = RunningServer::start_with(&folder, "auto", &[]);
    check(&folder, &["remember", "Anna likes chess.", "--id", "m1"], 0);
    let (watch, mut lines) = Watch::start(&folder, &[]);
    wait_for(&mut lines, "2 stored, 0 deleted");
    folder.file("notes/one.md", "A note about kestrels.\n");
    wait_for(&mut lines, "1 stored, 0 deleted, 0 unchanged");
    let found = out(&check(&folder, &["search", "kestrels", "--text"], 0));
    assert!(found.contains("notes/one.md"), "{found}");
    fs::remove_file(folder.0.join("notes/two.md")).unwrap();
    wait_for(&mut lines, "0 stored, 1 deleted");
    let ids = |listed: &str| -> Vec<String> {
        listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    assert_eq!(ids(&out(&check(&folder, &["list"], 0))), ["m1", "notes/one.md"]);
    // Another watch sends everything again, which the server knows.
    drop(watch);
    let (_watch, mut lines) = Watch::start(&folder, &[]);
    wait_for(&mut lines, "0 stored, 0 deleted, 1 unchanged");
}
