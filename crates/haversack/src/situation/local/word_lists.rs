//! The word lists of the local judge: function words, negations, comparisons, synonyms and words that
//! exclude each other. They cover general language, not any trade; a condition that needs knowledge
//! of a trade stays undecided.

use super::quantity::Comparator;

/// Function words: grammar without meaning of their own.
#[rustfmt::skip]
pub(super) const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "again", "also", "already", "am", "among", "amongst", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "being", "both", "but", "by", "can", "could", "currently", "did", "do", "does", "doing", "during",
    "either", "else", "for", "from", "had", "has", "have", "having", "he", "her", "herself", "him", "himself",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "may", "me", "might", "must",
    "my", "now", "of", "on", "onto", "or", "other", "our", "out", "per", "really", "shall", "she", "should",
    "so", "some", "still", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "to", "too", "up", "upon", "us", "via", "was", "we", "were", "what", "when", "where",
    "whether", "which", "while", "who", "whose", "will", "with", "would", "yet", "you", "your",
    // German
    "am", "auch", "auf", "aus", "bei", "bereits", "bin", "das", "dass", "dem", "den", "der", "des", "die",
    "ein", "eine", "einem", "einen", "einer", "es", "für", "hat", "haben", "ich", "ihm", "ihr", "im", "ins",
    "ist", "mit", "noch", "oder", "schon", "sich", "sie", "sind", "um", "und", "uns", "vom", "von", "war",
    "waren", "wegen", "werden", "wir", "wird", "worden", "wurde", "wurden", "zu", "zum", "zur", "über",
];

/// Auxiliary verbs, which separate the subject of a sentence from its predicate.
#[rustfmt::skip]
pub(super) const AUXILIARY_VERBS: &[&str] = &[
    "am", "are", "be", "been", "can", "cannot", "could", "did", "do", "does", "had", "has", "have", "is",
    "may", "might", "must", "shall", "should", "was", "were", "will", "would",
    "hat", "haben", "ist", "sind", "war", "waren", "werden", "wird", "wurde", "wurden",
];

/// Words that only name the setting, or say that something happens.
#[rustfmt::skip]
pub(super) const GENERIC_WORDS: &[&str] = &[
    "action", "affect", "anybody", "anyone", "ask", "became", "become", "began", "begin", "begun", "came",
    "bring", "burn", "carried", "carry", "case", "change", "client", "come", "concern", "countries", "country",
    "currency", "current", "customer", "done",
    "event", "fact", "get", "give", "given", "goes", "going", "gone", "got", "happen", "herself", "himself",
    "incident", "involve", "issue", "item", "job", "language", "lie", "made", "make", "matter", "mean", "mention",
    "message", "nature", "occur",
    "operation", "part", "people", "perform", "person", "place", "plan", "problem", "process", "question", "relate",
    "report", "request", "run", "scheduled", "situation", "sort", "speak", "somebody", "someone", "something", "stand", "start", "stood",
    "subject", "system", "take", "taken", "task", "team", "text", "thing", "ticket", "topic", "touch", "type", "use", "user",
    "want", "whole", "work", "write", "written",
    "betrifft", "geht", "kunde", "kunden", "person", "soll", "vorgang",
];

/// Words that only say that something is present or was done.
#[rustfmt::skip]
pub(super) const PRESENCE_WORDS: &[&str] = &[
    "attach", "available", "contain", "do", "done", "enclose", "exist", "found", "given", "has", "have", "held",
    "hold", "include", "involve", "is", "know", "known", "made", "named", "place", "present", "provide", "raise",
    "say", "see", "seen", "send", "sent", "shown", "take", "taken", "there", "was",
];

/// Words in the names of facts that do not say what the fact is about.
#[rustfmt::skip]
pub(super) const NAME_FILLERS: &[&str] = &[
    "a", "added", "an", "and", "are", "as", "at", "been", "by", "contains", "count", "current", "days", "did", "does",
    "flag", "for", "from", "has", "have", "hours", "id", "in", "includes", "is", "last", "latest", "left",
    "list", "minutes", "months", "n", "no", "num", "number", "of", "on", "or", "per", "seconds", "state",
    "status", "the", "to", "total", "until", "value", "was", "weeks", "were", "with", "years",
];

/// Names of facts that give the state of whatever the situation is about.
#[rustfmt::skip]
pub(super) const STATE_FACT_NAMES: &[&str] = &[
    "condition", "level", "mode", "outcome", "phase", "priority", "result", "severity", "stage", "state", "status",
    "urgency", "zustand",
];

/// Names of facts whose value is free text, not one of several choices.
#[rustfmt::skip]
pub(super) const FREE_TEXT_FACT_NAMES: &[&str] = &[
    "comment", "complaint", "content", "description", "document", "expense", "goal", "intent", "letter",
    "message", "note", "notes", "prompt", "query", "question", "reason", "request", "review", "subject",
    "summary", "symptoms", "task", "text", "ticket", "title", "topic", "transcript",
];

/// Negations; every word that ends in `n't` is one, too.
#[rustfmt::skip]
pub(super) const NEGATIONS: &[&str] = &[
    "absent", "cannot", "hardly", "lack", "lacking", "lacks", "missing", "neither", "never", "no", "nobody",
    "none", "noone", "nor", "not", "nothing", "nowhere", "without",
    "fehlen", "fehlt", "fehlte", "kein", "keine", "keinem", "keinen", "keiner", "nicht", "nichts", "nie",
    "niemals", "niemand", "ohne",
];

/// Values that say that something is absent or was not done.
#[rustfmt::skip]
pub(super) const FALSE_VALUES: &[&str] = &[
    "absent", "false", "keine", "lacking", "missing", "n/a", "na", "nein", "never", "nil", "no", "nobody",
    "none", "nothing", "null", "omitted", "skipped", "undefined", "unknown", "unset",
];

/// Words that can describe something that is absent or switched off.
#[rustfmt::skip]
pub(super) const ABSENCE_WORDS: &[&str] = &[
    "cancelled", "canceled", "cleared", "closed", "deleted", "disabled", "empty", "ended", "failed", "finished",
    "free", "gone", "idle", "inactive", "off", "offline", "open", "over", "paused", "pending", "refused", "rejected",
    "removed", "resolved", "stopped", "suspended", "waived",
];

/// People that a condition can mention although no fact names them.
#[rustfmt::skip]
pub(super) const PERSON_WORDS: &[&str] = &[
    "applicant", "author", "borrower", "buyer", "caller", "candidate", "claimant", "colleague", "driver", "employee",
    "guest", "owner", "passenger", "patient", "pupil", "recipient", "reporter", "requester", "resident", "sender",
    "student", "supplier", "tenant", "visitor", "worker", "writer",
];

/// Values that say that something is present or was done.
pub(super) const TRUE_VALUES: &[&str] = &["done", "ja", "present", "true", "yes"];

/// Words that mean `all` or `only`: one case cannot show that they hold.
#[rustfmt::skip]
pub(super) const UNIVERSAL_WORDS: &[&str] = &[
    "all", "always", "completely", "each", "entire", "entirely", "every", "everybody", "everyone",
    "everything", "exclusively", "fully", "merely", "only", "purely", "solely", "alle", "ausschließlich", "immer",
    "jede", "jeder", "jedes", "nur",
];

/// Words of degree: whether they hold is a matter of opinion.
#[rustfmt::skip]
pub(super) const DEGREE_WORDS: &[&str] = &[
    "almost", "badly", "barely", "enough", "few", "further", "highly", "less", "likely", "many", "mostly",
    "more", "most", "much", "nearly", "particularly", "partly", "probably", "quite", "rather", "slightly", "soon",
    "too", "unusually", "usually", "very",
];

/// Words that leave open whether their clause is true.
#[rustfmt::skip]
pub(super) const HEDGES: &[&str] = &[
    "could", "if", "in case", "may", "maybe", "might", "ob", "perhaps", "possibly", "should", "unless",
    "whether", "wenn", "would",
];

/// Phrases that compare with a number. Longer ones come first.
pub(super) const COMPARISONS: &[(&str, Comparator)] = &[
    ("no more than", Comparator::AtMost),
    ("not more than", Comparator::AtMost),
    ("no less than", Comparator::AtLeast),
    ("not less than", Comparator::AtLeast),
    ("no fewer than", Comparator::AtLeast),
    ("not fewer than", Comparator::AtLeast),
    ("no longer than", Comparator::AtMost),
    ("no older than", Comparator::AtMost),
    ("not older than", Comparator::AtMost),
    ("at least", Comparator::AtLeast),
    ("at most", Comparator::AtMost),
    ("at minimum", Comparator::AtLeast),
    ("a minimum of", Comparator::AtLeast),
    ("a maximum of", Comparator::AtMost),
    ("up to", Comparator::AtMost),
    ("more than", Comparator::Above),
    ("greater than", Comparator::Above),
    ("larger than", Comparator::Above),
    ("bigger than", Comparator::Above),
    ("higher than", Comparator::Above),
    ("longer than", Comparator::Above),
    ("older than", Comparator::Above),
    ("heavier than", Comparator::Above),
    ("hotter than", Comparator::Above),
    ("warmer than", Comparator::Above),
    ("taller than", Comparator::Above),
    ("wider than", Comparator::Above),
    ("later than", Comparator::Above),
    ("further than", Comparator::Above),
    ("faster than", Comparator::Above),
    ("in excess of", Comparator::Above),
    ("less than", Comparator::Below),
    ("fewer than", Comparator::Below),
    ("smaller than", Comparator::Below),
    ("lower than", Comparator::Below),
    ("shorter than", Comparator::Below),
    ("younger than", Comparator::Below),
    ("lighter than", Comparator::Below),
    ("colder than", Comparator::Below),
    ("cooler than", Comparator::Below),
    ("cheaper than", Comparator::Below),
    ("earlier than", Comparator::Below),
    ("narrower than", Comparator::Below),
    ("mehr als", Comparator::Above),
    ("größer als", Comparator::Above),
    ("höher als", Comparator::Above),
    ("länger als", Comparator::Above),
    ("älter als", Comparator::Above),
    ("weniger als", Comparator::Below),
    ("kleiner als", Comparator::Below),
    ("niedriger als", Comparator::Below),
    ("kürzer als", Comparator::Below),
    ("jünger als", Comparator::Below),
    ("mindestens", Comparator::AtLeast),
    ("höchstens", Comparator::AtMost),
    ("maximal", Comparator::AtMost),
    ("über", Comparator::Above),
    ("unter", Comparator::Below),
    ("over", Comparator::Above),
    ("above", Comparator::Above),
    ("beyond", Comparator::Above),
    ("exceed", Comparator::Above),
    ("exceeds", Comparator::Above),
    ("exceeding", Comparator::Above),
    ("exceeded", Comparator::Above),
    ("surpasses", Comparator::Above),
    ("surpass", Comparator::Above),
    ("under", Comparator::Below),
    ("below", Comparator::Below),
    ("reach", Comparator::AtLeast),
    ("reaches", Comparator::AtLeast),
    ("reached", Comparator::AtLeast),
    ("within", Comparator::AtMost),
    ("exactly", Comparator::Equal),
    ("genau", Comparator::Equal),
    ("only", Comparator::Equal),
    ("just", Comparator::Equal),
];

/// Numbers in words.
pub(super) const NUMBER_WORDS: &[(&str, f64)] = &[
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("fifteen", 15.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("ninety", 90.0),
    ("hundred", 100.0),
    ("thousand", 1_000.0),
    ("million", 1_000_000.0),
    ("dozen", 12.0),
    ("zwei", 2.0),
    ("drei", 3.0),
    ("vier", 4.0),
    ("fünf", 5.0),
    ("sechs", 6.0),
    ("sieben", 7.0),
    ("acht", 8.0),
    ("neun", 9.0),
    ("zehn", 10.0),
    ("zwölf", 12.0),
    ("hundert", 100.0),
    ("tausend", 1_000.0),
];

/// Groups of words that mean the same as far as the judge can tell.
#[rustfmt::skip]
pub(super) const SYNONYMS: &[&str] = &[
    "photo picture image photograph foto",
    "hurt injured wounded injury",
    "ill sick illness krank",
    "need needed required necessary requirement",
    "delete deleted remove removed erase erased wipe wiped purge destroy destroyed",
    "truncate truncated emptied",
    "complex complicated difficult challenging distributed architecture",
    "data rows records entries database table",
    "vat tax",
    "ci build pipeline",
    "steal stole stolen theft",
    "take took taken", "break broke broken breakage", "send sent", "lose lost loss", "find found", "speak spoke spoken",
    "drive drove driven", "eat ate eaten", "freeze froze frozen", "hide hid hidden", "give gave given", "choose chose chosen choice",
    "go went gone", "see saw seen", "build built", "bring brought", "catch caught", "teach taught", "hold held", "keep kept",
    "meet met meeting", "sleep slept", "spend spent", "win won", "wear wore worn", "tear tore torn", "throw threw thrown",
    "fly flew flown", "fall fell fallen falls", "grow grew grown growth", "rise rose risen", "leave left", "lend lent loan",
    "feed fed", "feel felt", "forget forgot forgotten", "swear swore sworn", "shut closed", "wait waiting waited",
    "drop dropped removed",
    "verify verified check checked confirm confirmed review reviewed",
    "write writes written wrote",
    "arrive arrived receive received",
    "cap limit limited",
    "interpreter translator",
    "test tested",
    "deploy deployed deployment rollout",
    "refund refunded reimburse reimbursed reimbursement",
    "change changed alter altered modify modified",
    "buy bought purchase purchased",
    "sell sold sale",
    "pay paid payment",
    "weigh weight heavy mass",
    "amount sum price cost value worth total",
    "age old aged",
    "temperature warm hot cold heat degrees",
    "long length duration lasts lasted",
    "tall high height",
    "licence license",
    "mail email",
    "phone telephone call called",
    "late delayed delay",
    "lorry truck",
    "car vehicle automobile",
    "doctor physician",
    "drug medicine medication",
    "lawyer attorney solicitor",
    "agree agreed consent consented agreement",
    "deputy substitute stand-in",
    "gift present",
    "user people person recipient employee guest attendee passenger visitor participant customer",
    "file files",
    "error bug defect fault",
    "crash accident collision",
    "contract agreement",
    "renew renewal renewed",
    "cancel cancelled canceled cancellation",
    "finish finished complete completed done",
    "begin began begun start started",
    "reply replied answer answered respond responded response",
    "ship shipped dispatch dispatched shipment",
    "parcel package",
    "goods cargo load freight",
    "bill invoice",
    "salary wage wages pay",
    "hire hired recruit recruited hiring recruitment",
    "fire fired dismiss dismissed dismissal",
    "child kid",
    "flight plane aircraft",
    "broken damaged damage defective",
    "sign signed signature",
    "allergic allergy allergies",
    "pregnant pregnancy",
    "certified certificate certification",
    "insured insurance",
    "encrypt encrypted encryption",
    "complain complained complaint complaints",
    "discount reduction rebate",
    "stock inventory",
    "speed fast velocity",
    "password credentials",
    "translate translated translation",
    "birth born",
    "dead died death deceased",
    "married marriage wedding",
    "school pupil",
    "tenant renter",
    "landlord owner",
    "rent rental",
    "wet moisture humidity humid",
    "fail failed failing failure fails",
    "approve approved approval approvals approver authorise authorised authorize authorized sign-off",
    "install installed installation",
    "inspect inspected inspection",
    "repair repaired fix fixed",
    "reserve reserved booking booked book reservation",
    "due deadline",
    "notify notified inform informed alerted called",
    "emergency urgent",
    "produktion production",
    "rechnung invoice",
    "betrag amount",
    "freigabe genehmigung approval freigegeben genehmigt",
    "verschlüsselt encrypted",
];

/// Groups of words of which at most one is true of a thing. Words in one slot mean the same.
#[rustfmt::skip]
pub(super) const EXCLUSIVE_GROUPS: &[&[&str]] = &[
    &["production prod live produktion", "staging", "development dev", "sandbox"],
    &["monday mon montag", "tuesday tue dienstag", "wednesday wed mittwoch", "thursday thu donnerstag", "friday fri freitag",
      "saturday sat samstag", "sunday sun sonntag"],
    &["january jan januar", "february feb februar", "march märz", "april apr", "june jun juni", "july jul juli",
      "august aug", "september sep", "october oct oktober", "november nov", "december dec dezember"],
    &["spring", "summer", "autumn fall", "winter"],
    &["low minor niedrig", "medium moderate normal mittel", "high severe critical major sev1 p1 hoch kritisch"],
    &["urgent express immediate emergency dringend", "low routine"],
    &["yesterday gestern", "today heute", "tomorrow morgen"],
    &["passed passes pass passing succeeded succeed success successful green bestanden",
      "failed fail fails failing failure red fehlgeschlagen"],
    &["happy pleased satisfied positive friendly content", "angry upset unhappy furious negative frustrated dissatisfied annoyed"],
    &["free", "trial", "pro premium", "enterprise", "basic"],
    &["gold", "silver", "bronze", "platinum"],
    &["formal", "casual informal"],
    &["internal inside own indoor indoors innerhalb intern inland", "external outside outdoor outdoors außerhalb extern abroad"],
    &["within inside", "outside"],
    &["domestic", "foreign international abroad"],
    &["public published öffentlich", "private confidential vertraulich", "internal"],
    &["open opened persists persist ongoing unresolved offen", "closed close shut resolved solved settled geschlossen erledigt"],
    &["simple easy trivial", "complex complicated difficult hard"],
    &["fast quick", "slow"],
    &["small tiny", "large huge big"],
    &["new neu", "old existing legacy used gebraucht"],
    &["enabled on active activated running online works working functioning operational aktiv",
      "disabled off inactive deactivated stopped offline paused suspended inaktiv"],
    &["approved accepted granted genehmigt", "rejected declined denied refused abgelehnt", "pending"],
    &["delivered arrived", "lost", "transit", "returned", "packed"],
    &["cancelled canceled abgesagt", "confirmed bestätigt"],
    &["increase increased raise raised grow rise rising growing", "reduce reduced decrease decreased lowered falling shrinking"],
    &["junior intern trainee apprentice", "senior"],
    &["buy bought purchase purchased buying", "sell sold sale selling"],
    &["temporary interim befristet", "permanent indefinite unbefristet"],
    &["intact undamaged", "broken damaged torn cracked"],
    &["empty leer", "full voll"],
    &["add added adding create created build built insert inserted", "remove removed delete deleted drop dropped"],
    &["manual by-hand", "automatic automated"],
    &["male man men boy", "female woman women girl"],
    &["left links", "right rechts"],
    &["electric", "diesel", "petrol gasoline", "hydrogen"],
    &["wet", "dry trocken"],
    &["single unmarried", "married"],
    &["dead deceased", "alive"],
    &["mandatory compulsory required pflicht", "optional voluntary"],
    &["valid current gültig", "invalid expired void lapsed ungültig abgelaufen"],
    &["guilty", "innocent"],
    &["day daytime", "night nighttime nacht"],
    &["summer", "winter"],
    &["north northern nord", "south southern süd", "east eastern ost", "west western"],
    &["home", "away"],
    &["rent rented rental leased", "owned"],
    &["solid", "liquid", "gas gaseous"],
    &["present anwesend", "absent abwesend"],
    &["positive", "negative"],
    &["raw", "cooked"],
    &["fresh", "frozen"],
    &["draft entwurf", "final published"],
    &["read readonly", "write written overwritten"],
    &["credit", "debit"],
    &["employed", "unemployed", "retired"],
    &["email mail e-mail", "phone telephone telefon", "chat", "letter post brief", "sms"],
    &["german deutsch germany deutschland", "english englisch england britain uk", "french französisch france frankreich",
      "spanish spanisch spain spanien", "italian italienisch italy italien", "polish polnisch poland polen",
      "dutch niederländisch netherlands", "portuguese portugal", "swedish sweden", "danish denmark",
      "norwegian norway", "belgian belgium", "austrian austria österreich", "swiss switzerland schweiz",
      "czech czechia", "ukrainian ukraine", "russian russia", "turkish turkey", "chinese china", "japanese japan",
      "greek greece", "american usa", "finnish finland", "irish ireland", "hungarian hungary"],
    &["euro euros eur", "dollar dollars usd", "pound pounds gbp", "franc francs chf", "yen jpy", "krone nok"],
];

/// Units by dimension: their names, and how many base units each is.
#[rustfmt::skip]
pub(super) const UNITS: &[(&str, &str, f64)] = &[
    ("time", "days day tage tag tagen d", 86_400.0), ("time", "hours hour stunden stunde h hrs", 3_600.0),
    ("time", "minutes minute minuten min mins", 60.0), ("time", "seconds second sekunden sec secs s", 1.0),
    ("time", "milliseconds millisecond ms", 0.001), ("time", "weeks week wochen woche", 604_800.0),
    ("time", "months month monate monat monaten", 2_629_800.0), ("time", "years year jahre jahr jahren yr yrs", 31_557_600.0),
    ("time", "quarters quarter", 7_889_400.0),
    ("mass", "kilograms kilogram kilos kilo kg", 1.0), ("mass", "tonnes tonne tons ton tonnen t", 1_000.0),
    ("mass", "grams gram g gramm", 0.001), ("mass", "pounds lbs lb", 0.4536), ("mass", "milligrams mg", 0.000_001),
    ("length", "kilometres kilometers kilometre kilometer km", 1_000.0), ("length", "metres meters metre meter m", 1.0),
    ("length", "centimetres centimeters centimetre centimeter cm", 0.01), ("length", "millimetres millimeters mm", 0.001),
    ("length", "miles mile", 1_609.344), ("length", "feet foot ft", 0.3048),
    ("area", "sqm m2 hectares", 1.0), ("speed", "kmh kph", 1.0), ("speed", "mph", 1.609_344),
    ("volume", "litres liters litre liter l", 1.0), ("volume", "millilitres milliliters ml", 0.001),
    ("size", "bytes byte", 1.0), ("size", "kilobytes kb", 1_000.0), ("size", "megabytes mb", 1_000_000.0),
    ("size", "gigabytes gb", 1_000_000_000.0), ("size", "terabytes tb", 1_000_000_000_000.0),
    ("temperature", "degrees degree celsius c grad °c", 1.0), ("share", "percent pct prozent percentage", 1.0),
    ("power", "kilowatts kw", 1_000.0), ("power", "watts w", 1.0),
    ("eur", "euros euro eur", 1.0), ("usd", "dollars dollar usd", 1.0), ("gbp", "gbp", 1.0),
    ("chf", "francs franc chf", 1.0), ("nok", "nok", 1.0), ("sek", "sek", 1.0), ("pln", "pln zloty", 1.0),
];

/// Dimensions that are currencies.
pub(super) const CURRENCIES: &[&str] = &["eur", "usd", "gbp", "chf", "nok", "sek", "pln"];
/// Names of facts that are sums of money, whatever the currency.
#[rustfmt::skip]
pub(super) const MONEY_FACT_NAMES: &[&str] = &[
    "amount", "sum", "price", "cost", "value", "total", "fee", "fees", "budget", "salary", "rent", "deposit",
    "payment", "refund", "balance", "income", "net", "gross", "turnover", "revenue", "loan", "debt", "betrag", "worth",
];

/// Codes of languages and countries, and a word of [`EXCLUSIVE_GROUPS`] for each.
#[rustfmt::skip]
pub(super) const LOCALE_CODES: &[(&str, &str)] = &[
    ("at", "austria"), ("be", "belgium"), ("ch", "switzerland"), ("cn", "china"), ("cz", "czechia"), ("de", "germany"),
    ("dk", "denmark"), ("da", "danish"), ("en", "english"), ("es", "spain"), ("fi", "finland"), ("fr", "france"),
    ("gb", "britain"), ("gr", "greece"), ("hu", "hungary"), ("ie", "ireland"), ("it", "italy"), ("ja", "japanese"),
    ("jp", "japan"), ("nl", "netherlands"), ("no", "norway"), ("pl", "poland"), ("pt", "portugal"), ("ru", "russia"),
    ("se", "sweden"), ("sv", "swedish"), ("tr", "turkey"), ("ua", "ukraine"), ("us", "usa"),
    ("zh", "chinese"),
];

/// Words that begin like a negating prefix but have none.
#[rustfmt::skip]
pub(super) const UNPREFIXED_WORDS: &[&str] = &[
    "delayed", "disclosed", "discount", "discover", "discovered", "discuss", "disease", "dish", "disk", "dispatch",
    "display", "distance", "district", "document", "image", "impact", "import", "important", "imported", "improve",
    "incident", "include", "included", "including", "income", "increase", "indoor", "inform", "information",
    "informed", "injured", "injury", "input", "inside", "inspected", "inspection", "install", "installed",
    "instant", "instead", "insulin", "insurance", "insured", "intact", "intent", "interest", "internal",
    "international", "internet", "interpreter", "interview", "into", "invented", "inventory", "invited", "invoice",
    "involve", "involved", "iron", "island", "issue", "uncle", "under", "union", "unique", "unit", "united",
    "universal", "university", "unless", "until",
];
