use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Vec<&str> {
    text.split('|').collect()
}

/// Words are separated by `|`; an empty second text means that nothing changes.
#[test]
fn secrets_go_and_everything_else_stays() {
    for (given, expected) in [
        ("python|train.py|--api-key=sk-abc|--lr=0.1", "python|train.py|--api-key=REDACTED|--lr=0.1"),
        ("x|--password|hunter2|--epochs|3", "x|--password|REDACTED|--epochs|3"),
        ("x|-password|hunter2", "x|-password|REDACTED"),
        ("x|--hub_token|abc|--hubToken=abc", "x|--hub_token|REDACTED|--hubToken=REDACTED"),
        (
            "env|API_KEY=abc|AWS_SECRET_ACCESS_KEY=d/e+f|HOME=/h|python",
            "env|API_KEY=REDACTED|AWS_SECRET_ACCESS_KEY=REDACTED|HOME=/h|python",
        ),
        ("env|AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP", "env|AWS_ACCESS_KEY_ID=REDACTED"),
        ("x|+logger.api_key=abc|trainer.max_epochs=3", "x|+logger.api_key=REDACTED|trainer.max_epochs=3"),
        ("x|https://user:pw@host/path", "x|https://user:REDACTED@host/path"),
        ("x|--index=https://user:p@w@host/simple", "x|--index=https://user:REDACTED@host/simple"),
        ("x|postgres://u:p@h/db?token=abc&a=1", "x|postgres://u:REDACTED@h/db?token=REDACTED&a=1"),
        ("x|https://0123456789abcdef0123456789abcdef@o1.sentry.io/2", "x|https://REDACTED@o1.sentry.io/2"),
        ("x|https://a.blob/x?sv=1&sig=abc%3D&se=2", "x|https://a.blob/x?sv=1&sig=REDACTED&se=2"),
        ("curl|-H|Authorization: Bearer abcdef123456", "curl|-H|Authorization: REDACTED"),
        ("curl|-H|X-Api-Key: abc def", "curl|-H|X-Api-Key: REDACTED"),
        ("curl|-H|Accept: Bearer abcdef123456", "curl|-H|Accept: Bearer REDACTED"),
        (
            "git|clone|https://ghp_0123456789abcdefABCDEF0123456789abcd@github.com/a/b",
            "git|clone|https://REDACTED@github.com/a/b",
        ),
        ("x|ghp_0123456789abcdefABCDEF0123456789abcd", "x|REDACTED"),
        ("x|hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh,b", "x|REDACTED,b"),
        ("x|sk-proj-0123456789abcdefABCDEF-xyz", "x|REDACTED"),
        (
            "sh|-c|API_KEY=abc python train.py --password hunter2 --lr 0.1",
            "sh|-c|API_KEY=REDACTED python train.py --password REDACTED --lr 0.1",
        ),
        ("sh|-c|x --password 'a b' --token=\"c d\" e", "sh|-c|x --password 'REDACTED' --token=\"REDACTED\" e"),
        (
            "python|-c|login(token=\"abc\", user='b'); wandb.login(key=k)",
            "python|-c|login(token=\"REDACTED\", user='b'); wandb.login(key=REDACTED)",
        ),
        ("x|--config|{\"api_key\": \"abc\", \"lr\": 0.1}", "x|--config|{\"api_key\": \"REDACTED\", \"lr\": 0.1}"),
        ("curl|-u|bob:hunter2|https://h/", "curl|-u|bob:REDACTED|https://h/"),
        ("curl|--user|bob:hunter2", "curl|--user|bob:REDACTED"),
        ("docker|run|--user|1000:1000|-p|8080:80|image", ""),
        ("sshpass|-p|hunter2|ssh|host", "sshpass|-p|REDACTED|ssh|host"),
        ("/usr/bin/mysql|-phunter2|db", "/usr/bin/mysql|-pREDACTED|db"),
        ("mysql|-p|db", ""),
        ("x|--pass|hunter2|--pat|abc", "x|--pass|REDACTED|--pat|REDACTED"),
        ("ffmpeg|--pass|2|-u|bob|-p|3", ""),
        ("wandb|login|0123456789abcdef0123456789abcdef01234567", "wandb|login|REDACTED"),
        ("git|checkout|0123456789abcdef0123456789abcdef01234567", ""),
        (
            "env|PGPASSWORD=abc|SSHPASS=def|python|--PassWord=ghi",
            "env|PGPASSWORD=REDACTED|SSHPASS=REDACTED|python|--PassWord=REDACTED",
        ),
        (
            "python|-c|os.environ['HF_TOKEN'] = 'abc'; x[\"KEY\"]=k",
            "python|-c|os.environ['HF_TOKEN'] = 'REDACTED'; x[\"KEY\"]=REDACTED",
        ),
        ("docker|login|-u|me|-p|abc", "docker|login|-u|me|-p|REDACTED"),
        ("az|login|-p|abc", "az|login|-p|REDACTED"),
        ("docker|run|-p|8080|login", ""),
        ("redis-cli|-a|abc|-p|6379", "redis-cli|-a|REDACTED|-p|6379"),
        ("openssl|rsa|-passin|pass:abc|-passout|env:P", "openssl|rsa|-passin|pass:REDACTED|-passout|env:P"),
        ("smbclient|-U|me%abc", "smbclient|-U|me%REDACTED"),
        ("zip|-P|abc|a.zip", "zip|-P|REDACTED|a.zip"),
        ("7z|a|-pabc|a.7z", "7z|a|-pREDACTED|a.7z"),
        ("ldapsearch|-w|abc|-x", "ldapsearch|-w|REDACTED|-x"),
        ("sqlcmd|-P|abc", "sqlcmd|-P|REDACTED"),
        ("vault|login|abc", "vault|login|REDACTED"),
        ("kubectl|create|secret|--from-literal=pw=abc", "kubectl|create|secret|--from-literal=pw=REDACTED"),
        (
            "aws|configure|set|aws_secret_access_key|abc|--profile|p",
            "aws|configure|set|aws_secret_access_key|REDACTED|--profile|p",
        ),
        ("git|config|user.name|abc|user.token|x", "git|config|user.name|abc|user.token|REDACTED"),
        (
            "x|--webhook=https://hooks.slack.com/services/T0/B0/abc",
            "x|--webhook=https://hooks.slack.com/services/REDACTED",
        ),
        (
            "x|curl https://api.telegram.org/bot12:abc/sendMessage -d a",
            "x|curl https://api.telegram.org/botREDACTED -d a",
        ),
        ("python|train.py|-p|4|-a|resnet18|-w|8|-P|2|-k|5|--set|lr.min|0", ""),
        // Names that only look like it.
        (
            "x|--tokenizer|bert|--max-tokens|512|--max_new_tokens=7|--num-keys|4|--pad-token|[PAD]|--eos_token=</s>",
            "",
        ),
        (
            "x|--key-dim|64|--sort-key|name|--num_query_tokens|9|--token-type|a|--keys|a,b|--monkey|x|--placeholder_token|<cat>",
            "",
        ),
        ("x|--password-file|/run/pw|--token-file=/run/t|--secret-name|mine|--auth-method|oauth", ""),
        (
            "x|--use-auth-token|train.py|--no-auth|a|--token=true|--api-key=$KEY|--api-key=${KEY_2}|--token|--verbose",
            "",
        ),
        ("x|--password|$ecret|--token=$ecret", "x|--password|REDACTED|--token=REDACTED"),
        ("jouletree|show|RUN|--pass|backward|--by|op", ""),
        (
            "python|-m|sk-learn-linear-regression-model|hf_transformers|sk-learn|http://host:8080/a@b|git@github.com:a/b",
            "",
        ),
        (
            "x|ssh://git@github.com/a|docker.io/image:tag@sha256:0123|basic training|a::b|std::token::x|a basic idea",
            "",
        ),
        ("python|-c|if token == 3: pass\nkeys = [1]; token_count = 5", ""),
        ("", ""),
    ] {
        let expected = if expected.is_empty() { given } else { expected };
        assert_eq!(redacted(&line(given)), line(expected), "{given}");
    }
}

/// A secret that is in no name, prefix or text around it.
fn secret() -> impl Strategy<Value = String> {
    "Z[a-zA-Z0-9_.~!*-]{6,30}Z"
}

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "password",
        "passwd",
        "secret",
        "token",
        "key",
        "api-key",
        "api_key",
        "apiKey",
        "APIKEY",
        "AUTH",
        "auth-token",
        "client_secret",
        "aws_credentials",
        "db_pass",
        "hub.token",
        "SSH_KEY",
        "my-credential",
    ])
}

proptest! {
    #[test]
    fn no_named_secret_is_left(name in name(), secret in secret(), others in prop::collection::vec("[a-z./=0-9-]{0,9}", 0..4)) {
        let forms = [
            vec![format!("--{name}={secret}")],
            vec![format!("--{name}"), secret.clone()],
            vec![format!("-{name}"), secret.clone()],
            vec![format!("{name}={secret}")],
            vec![format!("+{name}={secret}")],
            vec![format!("https://u:{secret}@host/x")],
            vec![format!("http://host/x?a=1&{name}={secret}")],
            vec![format!("env {name}={secret} python x.py")],
            vec![format!("python x.py --{name} {secret} --last")],
            vec![format!("f({name}='{secret}')")],
            vec![format!("{{\"{name}\": \"{secret}\"}}")],
            vec![format!("{name}: {secret}")],
        ];
        for form in forms {
            let words: Vec<String> = others.iter().cloned().chain(form.clone()).collect();
            // A word before it may be an option with this value.
            let result = redacted(&words);
            prop_assert_eq!(result.len(), words.len());
            prop_assert!(!result.join(" ").contains(&secret), "{:?} -> {:?}", form, result);
        }
    }

    #[test]
    fn redacting_twice_is_redacting_once(words in prop::collection::vec("(--)?(token|key|a|https://u:p@h|pass|sk-)?[ =:'\"]{0,2}.{0,12}", 0..6)) {
        let once = redacted(&words);
        prop_assert_eq!(redacted(&once), once);
    }

    #[test]
    fn words_without_secrets_stay(words in prop::collection::vec("(--(lr|epochs|max-tokens|tokenizer|batch_size|num-keys|out)=?)?[a-z0-9/. ]{0,8}", 0..8)) {
        prop_assert_eq!(redacted(&words), words);
    }
}
