// Reads one JSON object a line, {secret, headers, body}, and prints the public verifier's result for each: ok, or the
// error. NODE_PATH has the verifier's directory.
const { Webhook } = require("standardwebhooks");
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
for (const line of lines) {
	const { secret, headers, body } = JSON.parse(line);
	try {
		new Webhook(secret).verify(body, headers);
		console.log("ok");
	} catch (error) {
		console.log(`${error.constructor.name}: ${error.message}`);
	}
}
