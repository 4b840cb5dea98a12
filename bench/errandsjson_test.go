package bench

import (
	"fmt"
	"strings"

	shown "rlmproxy/pipeline/show"
)

// jsonErrands are questions about JSON and CSV.
var jsonErrands = []errand{
	previewed("pulls.json", "how many are open", `"open" ×7`, `map(.state=="open")|add|tostring`, "7"),
	previewed("issues.json", "which states, and how many of each", `"open"`, `.items|group_by(.state)|map([.[0].state,length])`, `["open"`),
	previewed("npm-lock.json", "the version of node_modules/semver", `"6.3.2"`, `.packages["node_modules/semver"].version`, "6.3.2"),
	previewed("npm-ls.json", "the version of express", `4.22`, `.dependencies.express.version`, "4."),
	previewed("npm-view.json", "the latest version", `5.3.0`, `.["dist-tags"].latest`, "5.3.0"),
	previewed("eslint.json", "the file with the most warnings", `response.js`, `max_by(.warningCount).filePath`, "express/response.js"),
	previewed("jest.json", "how many tests failed", "numFailedTests: 3", `.numFailedTests`, "3"),
	previewed("jest.json", "which tests failed", "0.2.0 in ^0.1.0", `[.testResults[].assertionResults[]|select(.status=="failed").fullName]`, "0.2.0 in ^0.1.0"),
	previewed("terraform-plan.json", "which addresses are replaced", "", `[.resource_changes[]|select(.change.actions|length>1).address]`, "database"),
	previewed("kubectl-pods.json", "which pods do not run, and why", "", `[.items[]|select(.status.containerStatuses[0].ready|not)|[.metadata.name,.status.phase,.status.containerStatuses[0].state.waiting.reason]]`, "CrashLoopBackOff"),
	previewed("kubectl-pods.json", "how many pods has each app", `"worker" ×16`, `.items|group_by(.metadata.labels.app)|map([.[0].metadata.labels.app,length])`, `16`),
	previewed("ec2-instances.json", "how many instances run", `"running" ×18`, `[.Reservations[].Instances[]|select(.State.Name=="running")]|length`, "18"),
	previewed("ec2-instances.json", "which instance types there are", `"m5.large" ×6`, `[.Reservations[].Instances[].InstanceType]|group_by(.)|map([.[0],length])`, `"m5.large",6`),
	previewed("emoji.json", "how many emoji has each group", `"Smileys & Emotion" ×1`, `[.[].group]|group_by(.)|map([.[0],length])`, "Smileys & Emotion"),
	previewed("cldr-languages.json", "the word for Finnish", "Finnisch", `.main.de.localeDisplayNames.languages.fi`, "Finnisch"),
	previewed("sql-rows.json", "which columns, and what is the type of the sixth", `latitude`, `.columns`, "latitude"),
	previewed("sql-rows.json", "how many airports has Alaska", `"AK" ×116`, `[.rows[]|select(.[3]=="AK")]|length`, "116"),
	previewed("tree-sizes.json", "how many files has lib of eslint, and how many bytes", "lib/ 398 files in 17 folders, 2,952,420 bytes", `[.[0].contents[]|select(.name=="lib")|..|objects|select(.type=="file").size]|[length,add]`, "398,2952420"),
	previewed("volcano.json", "width and height", "width: 87", `[.width,.height]`, "87"),
	previewed("miserables.json", "how many links has it", "254 items", `.links|length`, "254"),
	previewed("sarif.json", "how many rules", "rules: array, 149 items", `.runs[0].tool.driver.rules|length`, "149"),
	previewed("disasters.csv", "the years with the most deaths by earthquakes", "", `map(select(.Entity=="Earthquake"))|sort_by(-.Deaths)|.[:3]`, "276994"),
	previewed("birdstrikes.csv", "how many strikes in each phase of flight", `"Approach" ×`, `group_by(.["Phase of flight"])|map([.[0]["Phase of flight"],length])`, "Approach"),
}

// previewed is an errand that the preview does if it holds mark, else the program, whose
// answer holds want.
func previewed(file, about, mark, program, want string) errand {
	return errand{"Previews of JSON and CSV", file, about, func(r *reader) bool {
		if mark != "" && strings.Contains(r.first.text, mark) {
			return true
		}
		return strings.Contains(r.call("proxy_filter", fmt.Sprintf(`"cache_id":"$id","jq":%s`, shown.Quote(program))).text, want)
	}}
}
