// Reads [{token, key, algorithm, claims}] from stdin and lets a public checker judge each token: `key` is the public key in PEM,
// `claims` what the checker is to ask of issuer, audience and age. Prints {header, payload} or {error} of each. NODE_PATH has the
// checker's directory.
const { importSPKI, jwtVerify } = require("jose");

async function judge({ token, key, algorithm, claims }) {
	try {
		const { protectedHeader, payload } = await jwtVerify(token, await importSPKI(key, algorithm), { algorithms: [algorithm], ...claims });
		return { header: protectedHeader, payload };
	} catch (error) {
		return { error: error.code ?? String(error) };
	}
}

Promise.all(JSON.parse(require("fs").readFileSync(0, "utf8")).map(judge)).then((verdicts) => console.log(JSON.stringify(verdicts)));
