package config

import (
	"fmt"
	"strings"
)

// Need says what a command cannot do without.
type Need struct {
	// Store: a folder store, or an account of Azure Storage. Where both are
	// set, the folder counts.
	Store bool
	// Queue: an account of Azure Storage; a folder has no queue.
	Queue bool
	// Message: a message given by hand.
	Message bool
	// Run is what the command run needs: a store where a message is given by
	// hand, a queue otherwise.
	Run bool
	// Launch is what the command launch needs: an account of Azure Storage, and
	// all that a container group is made of.
	Launch bool
}

// Names of variables that depend on each other.
const (
	connectionString = "AZURE_STORAGE_CONNECTION_STRING"
	accountName      = "AZURE_STORAGE_ACCOUNT_NAME"
	clientID         = "AZURE_CLIENT_ID"
	storeDir         = "RSMS_STORE_DIR"
	messageText      = "RSMS_MESSAGE"
	delivery         = "RSMS_DELIVERY"
	queueName        = "RSMS_WORKER_QUEUE_NAME"
	poisonQueueName  = "RSMS_WORKER_POISON_QUEUE_NAME"
	doneQueueName    = "RSMS_DONE_QUEUE_NAME"
	jobTimeout       = "RSMS_JOB_TIMEOUT_SEC"
	replicaTimeout   = "RSMS_REPLICA_TIMEOUT_SEC"
	launchImage      = "RSMS_ACI_IMAGE"
	ensembleRuns     = "RSMS_ENSEMBLE"
	varyDispersion   = "RSMS_VARY_DISPERSION"
)

// review gathers what is wrong with the settings.
type review struct {
	config   *Config
	get      func(name string) string
	bad      map[string]bool // by variable
	problems []error
}

func (r *review) add(name, format string, args ...any) {
	r.bad[name] = true
	r.problems = append(r.problems, &BadVariable{Name: name, Flag: flagOf(name), Problem: fmt.Sprintf(format, args...)})
}

func flagOf(name string) string {
	for n, f := range settings() {
		if n == name {
			return f.Tag.Get("flag")
		}
	}
	return ""
}

// full is how an error calls another variable than its own.
func full(name string) string { return called(name, flagOf(name)) }

// given reports whether a variable is set, rightly or not: what is bad is not
// missing as well.
func (r *review) given(name string) bool { return r.get(name) != "" }

// together judges what no variable can be blamed for alone.
func (r *review) together(need Need) {
	if need.Run {
		need = r.run()
	}
	if need.Launch {
		need.Queue = true
		r.launch()
	}
	if r.given(delivery) && !r.given(messageText) {
		r.add(messageText, "is not set, but %s tells of its delivery", full(delivery))
	}
	if need.Message && !r.given(messageText) {
		r.add(messageText, "is not set: the message to run is needed")
	}
	if need.Queue {
		r.queue()
	} else if need.Store && !r.given(storeDir) {
		r.account("a store is needed: one of the two, or " + full(storeDir) + " for a folder")
	}
	r.identity()
	r.limits()
	r.ensemble()
	queues := []string{queueName, poisonQueueName, doneQueueName}
	if r.bad[queueName] && !r.given(poisonQueueName) {
		queues = []string{doneQueueName} // the name of the poison queue is not known
	}
	r.distinct("queue", queues...)
	r.distinct("container", "RSMS_RIVERBASIN_BLOB_CONTAINER", "RSMS_RESULTS_BLOB_CONTAINER")
	r.distinct("table", "RSMS_SCENARIOS_TABLE", "RSMS_RUNS_TABLE", "RSMS_PLUME_BY_TIME_TABLE", "RSMS_PLUME_BY_MILE_TABLE")
}

// run is what the command run needs with these settings. Who has settings for
// launch means that: run would compute with other engines than those of the image,
// so a platform that loses the arguments of the program is found out (C34).
func (r *review) run() Need {
	if r.given(launchImage) {
		r.add(launchImage, "is set, which run does not read: start the program with the argument launch, or unset it")
	}
	if r.given(messageText) {
		return Need{Store: true}
	}
	if r.given(storeDir) {
		r.add(messageText, "is not set: %s names a folder, which has no queue, so the message must be given", full(storeDir))
		return Need{}
	}
	return Need{Queue: true}
}

// launch sees that everything is set that has no default and only launch reads.
func (r *review) launch() {
	for name, f := range settings() {
		if f.Tag.Get("only") == "launch" && !strings.Contains(f.Tag.Get("env"), "default=") && !r.given(name) {
			r.add(name, "is not set: launch needs it, %s", f.Tag.Get("help"))
		}
	}
	if c := r.config.Connection; c != nil && !c.Loopback() {
		r.add(connectionString, "is set: a container group would have to be given it, so launch wants an identity: unset it and set %s", full(accountName))
	}
}

// queue sees that there is an account, and that it is the store.
func (r *review) queue() {
	if r.given(storeDir) {
		r.add(storeDir, "is set, but a folder has no queue: unset it, and name the account by %s or %s", connectionString, full(accountName))
		return
	}
	r.account("the account of the queue is needed: one of the two; without a queue, run takes " + full(storeDir) + " and " + full(messageText))
}

// account sees that exactly one way to the account is set, and is complete.
func (r *review) account(needed string) {
	switch byString, byName := r.given(connectionString), r.given(accountName); {
	case byString && byName:
		r.add(connectionString, "and %s are both set: unset the one that is not meant", full(accountName))
	case !byString && !byName:
		r.add(connectionString, "and %s are not set: %s", full(accountName), needed)
	// Container Apps knows no default among the identities of a job (C40).
	case byName && r.given("IDENTITY_ENDPOINT") && r.given("CONTAINER_APP_JOB_NAME") && !r.given(clientID):
		r.add(clientID, "is not set: in Container Apps it says which user-assigned identity opens the account; "+
			"give it the client id of the identity that has the roles")
	}
}

// identity keeps keys out where only identities are wanted.
func (r *review) identity() {
	if c := r.config.Connection; r.config.RequireIdentity && c != nil && !c.Loopback() {
		r.add(connectionString, "is set, which RSMS_REQUIRE_IDENTITY=true allows for this machine only: unset it and set %s", full(accountName))
	}
}

// limits sees that the job ends itself before the platform does (C14).
func (r *review) limits() {
	platform := r.config.ReplicaTimeoutSeconds
	if platform > 0 && r.config.JobTimeoutSeconds >= platform && !r.bad[jobTimeout] {
		r.add(jobTimeout, "must be below %s: the platform ends the process then, and nothing is handed back", full(replicaTimeout))
	}
}

// ensemble sees to the gaps in the ranges of its settings.
func (r *review) ensemble() {
	if r.config.Ensemble == 1 {
		r.add(ensembleRuns, "must be 0 for no ensemble, or from 2 to 1000: one run has no band")
	}
	if f := r.config.VaryDispersion; f > 0 && f < 1 {
		r.add(varyDispersion, "must be 0 for what fits the basin, or from 1 to 10: it is the upper end of the factors, the lower one is 1 divided by it")
	}
}

// distinct sees that no two variables name the same thing; Azure does not see
// the case of letters.
func (r *review) distinct(kind string, names ...string) {
	effective := map[string]string{}
	for _, s := range r.config.Settings() {
		effective[s.Name] = strings.ToLower(fmt.Sprint(s.Value))
	}
	taken := map[string]string{}
	for _, name := range names {
		value := effective[name]
		if r.bad[name] || value == "" {
			continue
		}
		if other, twice := taken[value]; twice {
			r.add(name, "names the same %s as %s: each needs its own", kind, full(other))
			continue
		}
		taken[value] = name
	}
}
