//! Which names name secrets. A name is cut into words: `hubApiKey`, `--hub-api-key` and `HUB_API_KEY` are the same.

/// Words that make a secret of any name they are in.
const SECRET: [&str; 14] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "apikey",
    "authtoken",
    "accesstoken",
    "sshpass",
];
/// A name that ends so is that of a place or a property of the secret.
const ABOUT: [&str; 22] = [
    "file", "path", "dir", "folder", "name", "env", "var", "prompt", "stdin", "length", "len", "size", "min",
    "max", "policy", "field", "column", "type", "cmd", "command", "helper", "provider",
];
/// Tokens of texts, not of access.
const OF_TEXT: [&str; 47] = [
    "pad",
    "padding",
    "eos",
    "bos",
    "unk",
    "unknown",
    "mask",
    "masked",
    "sep",
    "cls",
    "stop",
    "special",
    "start",
    "end",
    "begin",
    "image",
    "audio",
    "video",
    "max",
    "min",
    "num",
    "n",
    "per",
    "first",
    "last",
    "next",
    "new",
    "prompt",
    "trigger",
    "placeholder",
    "initializer",
    "class",
    "text",
    "word",
    "sub",
    "forced",
    "decoder",
    "extra",
    "additional",
    "added",
    "tokenizer",
    "vision",
    "register",
    "think",
    "blank",
    "separator",
    "delimiter",
];
/// Whose keys are secrets; a sort key is none.
const WITH_KEY: [&str; 40] = [
    "api",
    "access",
    "secret",
    "private",
    "ssh",
    "encryption",
    "license",
    "licence",
    "account",
    "auth",
    "signing",
    "sign",
    "master",
    "storage",
    "shared",
    "sas",
    "subscription",
    "service",
    "wandb",
    "comet",
    "neptune",
    "clearml",
    "openai",
    "anthropic",
    "hf",
    "huggingface",
    "kaggle",
    "azure",
    "aws",
    "gcp",
    "google",
    "client",
    "consumer",
    "deploy",
    "webhook",
    "app",
    "admin",
    "hmac",
    "ssl",
    "tls",
];
/// Whose pass is a password; a backward pass is none.
const WITH_PASS: [&str; 16] = [
    "db", "database", "user", "smtp", "mail", "mysql", "pg", "postgres", "redis", "root", "admin", "ftp", "proxy",
    "http", "ssh", "login",
];
/// Options that begin so take no value.
const SWITCH: [&str; 14] = [
    "no", "use", "ask", "with", "without", "disable", "enable", "require", "skip", "show", "hide", "allow", "is",
    "has",
];

/// Whether the value of something with this name is a secret.
pub fn names_secret(name: &str) -> bool {
    let words = words(name);
    let Some((last, before)) = words.split_last() else { return false };
    if ABOUT.contains(&last.as_str()) {
        return false;
    }
    // `PGPASSWORD` and `PassWord` are passwords, too.
    let is_password = |text: &str| text.ends_with("password") || text.ends_with("passwd");
    if words.iter().any(|word| SECRET.contains(&word.as_str())) || is_password(&words.concat()) {
        return true;
    }
    let of = |list: &[&str]| before.last().is_some_and(|word| list.contains(&word.as_str()));
    match last.as_str() {
        "token" => !of(&OF_TEXT),
        "key" => before.is_empty() || of(&WITH_KEY),
        "id" => before.ends_with(&["access".to_owned(), "key".to_owned()]),
        "pass" => of(&WITH_PASS),
        "auth" | "authorization" | "bearer" | "cookie" => true,
        _ => false,
    }
}

/// Whether an option of this name is on or off, so that the next word is not its value.
pub fn is_flag(name: &str) -> bool {
    words(name).first().is_some_and(|first| SWITCH.contains(&first.as_str()))
}

/// The words of a name, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            before = '_';
            continue;
        }
        let is_new = before == '_' || before.is_ascii_lowercase() && letter.is_ascii_uppercase();
        match words.last_mut() {
            Some(word) if !is_new => word.push(letter.to_ascii_lowercase()),
            _ => words.push(letter.to_ascii_lowercase().to_string()),
        }
        before = letter;
    }
    words
}
