//! Recipes that are made from others.

use super::*;

#[track_caller]
fn check_wrong(source: &str, expected: &str) {
    let error = Recipe::parse("mine", source, &own()).unwrap_err();
    let found: Vec<String> = error.problems.iter().map(RecipeProblem::to_string).collect();
    assert_eq!(found.join("\n"), expected);
}

fn names(recipe: &Recipe) -> Vec<&str> {
    recipe.layers.iter().map(|layer| &*layer.name).collect()
}

#[test]
fn what_is_said_wins_and_the_rest_stays_x6() {
    let recipe = parsed(
        "haversack = 1\nextends = \"everything\"\n[output]\nfence = \"off\"\n\
         [[layer]]\nname = \"mine\"\n[[layer]]\nname = \"found\"\nshare = 0.5\nrepeats = \"none\"\n",
    );
    let base =
        Recipe::parse("everything", builtin("everything").unwrap(), &RecipeRegistry::default())
            .unwrap();
    assert_eq!((recipe.name.as_str(), recipe.extends.as_deref()), ("mine", Some("everything")));
    assert_eq!(recipe.fencing, Fencing::Off);
    assert_eq!(recipe.budget.total, Tokens::new(5), "an own recipe stands in for a built-in one");
    assert_eq!(recipe.description, base.description);
    assert_eq!(
        names(&recipe)[..names(&base).len()],
        names(&base),
        "the base's order, then new ones"
    );
    assert_eq!(names(&recipe).last(), Some(&"mine"));
    let (found, before) = (recipe.layer("found").unwrap(), base.layer("found").unwrap());
    assert_eq!((found.share, found.repeats), (Share::percent(50), None));
    assert_eq!((&found.collect, &found.template), (&before.collect, &before.template));
}

#[test]
fn layers_can_be_removed_and_take_along_what_is_said_of_them() {
    let mut registry = own();
    let base = "haversack = 1\n[[layer]]\nname = \"a\"\nshare = 0.4\n[[layer]]\nname = \"b\"\n\
        [[adapt]]\nwhen = 'words > 3'\nshares = { a = 0.5, b = 0.5 }\ncaps = { a = 9 }\n";
    registry.recipes.insert("base".to_owned(), base.to_owned());
    let source = "haversack = 1\nextends = \"base\"\nremove = [\"a\"]\n[[layer]]\nname = \"c\"\nshare = 0.5\n";
    let recipe = Recipe::parse("mine", source, &registry).unwrap();
    assert_eq!(names(&recipe), ["b", "c"]);
    assert_eq!(recipe.adapt[0].shares, [("b".to_owned(), Share::percent(50))]);
    assert!(recipe.adapt[0].caps.is_empty());
    // What the base adapts must go with the layers that are there now.
    let source = "haversack = 1\nextends = \"base\"\n[[layer]]\nname = \"c\"\nshare = 0.5\n";
    let error = Recipe::parse("mine", source, &registry).unwrap_err();
    assert_eq!(
        error.problems[0].to_string(),
        "1:1: with adapt 1 of the base the layers' shares add up to 1.5, which is 0.5 more than 1"
    );
    // The layer comes back from scratch, at the end.
    let source = "haversack = 1\nextends = \"base\"\nremove = [\"a\"]\n[[layer]]\nname = \"a\"\n";
    let recipe = Recipe::parse("mine", source, &registry).unwrap();
    assert_eq!((names(&recipe), recipe.layers[1].share), (vec!["b", "a"], Share::ZERO));
    check_wrong(
        "haversack = 1\nextends = \"notes\"\nremove = [\"note\"]\n",
        "3:11: remove names \"note\", which the base does not have, perhaps notes; there are notes",
    );
    check_wrong(
        "haversack = 1\nremove = [\"x\"]\n[[layer]]\nname = \"a\"\n",
        "2:10: remove takes layers of a base away, but there is no extends",
    );
}

#[test]
fn pinning_a_layer_of_the_base_takes_its_limits_away() {
    let mut registry = own();
    let base =
        "haversack = 1\n[[layer]]\nname = \"a\"\nshare = 0.4\ncap = 50\ncut = \"keep_end\"\n";
    registry.recipes.insert("base".to_owned(), base.to_owned());
    let source = "haversack = 1\nextends = \"base\"\n[[layer]]\nname = \"a\"\npinned = true\n";
    let recipe = Recipe::parse("mine", source, &registry).unwrap();
    let layer = &recipe.layers[0];
    assert_eq!((layer.pinned, layer.share, layer.cap, layer.cut), (true, Share::ZERO, None, None));
}

#[test]
fn a_circle_names_the_chain() {
    check_wrong(
        "haversack = 1\nextends = \"circle\"\n[[layer]]\nname = \"a\"\n",
        "2:11: extends leads in a circle: mine → circle → round → circle",
    );
    check_wrong(
        "haversack = 1\nextends = \"mine\"\n",
        "2:11: extends leads in a circle: mine → mine",
    );
}

#[test]
fn a_missing_base_is_named_with_the_nearest() {
    check_wrong(
        "haversack = 1\nextends = \"everythin\"\n[[layer]]\nname = \"a\"\nshare = 3\n",
        "2:11: extends names \"everythin\", which is not there (mine → everythin), perhaps everything\n\
         5:9: layer a: share is 3; it must be a number from 0 to 1",
    );
}

#[test]
fn a_broken_base_says_what_is_wrong_with_it_and_hides_nothing() {
    check_wrong(
        "haversack = 1\nextends = \"broken\"\nname = 3\n[[adapt]]\nwhen = 'words > 1'\ncaps = { x = 1 }\n",
        "2:11: extends \"broken\", which cannot be used: broken:2:1: unknown key shapes, perhaps shape (and 1 more)\n\
         3:8: name is a whole number; it must be a text",
    );
}

#[test]
fn a_recipe_may_extend_the_built_in_one_of_its_name() {
    let registry = own();
    let recipe = Recipe::parse("everything", &registry.recipes["everything"], &registry).unwrap();
    assert_eq!(recipe.budget.total, Tokens::new(5));
    assert!(recipe.layer("found").is_some());
}

#[test]
fn chains_are_bounded() {
    let mut registry = own();
    for n in 0..40 {
        let source = format!("haversack = 1\nextends = \"r{}\"\n", n + 1);
        registry.recipes.insert(format!("r{n}"), source);
    }
    let error = Recipe::parse("r0", &registry.recipes["r0"], &registry).unwrap_err();
    let message = &error.problems[0].message;
    assert!(message.starts_with("extends leads over more than 16 recipes: r0 → r1"), "{message}");
}
