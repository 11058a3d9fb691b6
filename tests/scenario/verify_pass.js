// Reads {passes, pictures, certificates} from stdin, files as base64, and lets the public generator of passes make each pass
// again. Prints {warnings, properties, sections, error} of each: what it refuses, and what is left of it. NODE_PATH has the
// generator's directory.
const { PKPass } = require("passkit-generator");
const SECTIONS = ["headerFields", "primaryFields", "secondaryFields", "auxiliaryFields", "backFields"];

function judge(pass, pictures, certificates) {
	const warnings = [];
	console.warn = (...words) => warnings.push(words.join(" "));
	try {
		const made = new PKPass({ ...pictures, "pass.json": Buffer.from(JSON.stringify(pass)) }, certificates);
		made.getAsBuffer();
		return { warnings, properties: made.props, sections: Object.fromEntries(SECTIONS.map((name) => [name, [...made[name]]])) };
	} catch (error) {
		return { warnings, error: String(error.message) };
	}
}

function decoded(texts) {
	return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text, "base64")]));
}

const { passes, pictures, certificates } = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(passes.map((pass) => judge(pass, decoded(pictures), decoded(certificates)))));
