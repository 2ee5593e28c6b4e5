//! A data folder that version 0.1.0 wrote, in the hands of this version.

use std::fs;
use std::path::Path;

use super::{TestFolder, err, out};

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_folder_of_0_1_0_packs_as_a_new_one_does() {
    let folder = TestFolder::new("upgrade");
    let written =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../haversack-store/tests/it/folder-0.1.0");
    copy_all(&written, &folder.0.join("old"));
    copy_all(&written.join("docs"), &folder.0.join("docs"));
    let pack = |data: &str| {
        let question = "How do I open the door of the cellar for the ladder?";
        let packed = folder.run(&["--data", data, "pack", question, "--budget", "300"]);
        assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
        (out(&packed), err(&packed))
    };
    let (text, told) = pack("old");
    assert!(told.starts_with("workspace default was upgraded: 3 items\n"), "{told}");
    assert!(text.contains("ask Anna for the red key"), "{text}");
    assert!(!pack("old").1.contains("upgraded"));
    assert_eq!(folder.run(&["--data", "new", "add", "docs"]).status.code(), Some(0));
    assert_eq!(pack("new").0, text);
}
