// Package config turns flags, environment and settings files into one
// validated struct. It is the only reader of the environment. Invariant: a
// Config that Load returned holds no value outside its documented range.
package config

import (
	"iter"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// Config holds every setting of the job. The tags are the public names: env is
// the variable, flag the command-line flag, range the bounds of a number, oneof
// the words that are accepted, name the kind of Azure name and its length where
// that is not the one of Azure. A Secret has no flag: command lines are seen by
// everybody on the machine.
type Config struct {
	ConnectionString      Secret  `env:"AZURE_STORAGE_CONNECTION_STRING" help:"connection string of the storage account; without a flag, which would show in the list of processes"`
	AccountName           string  `env:"AZURE_STORAGE_ACCOUNT_NAME" flag:"account" name:"account" help:"storage account, opened with a managed or workload identity"`
	ClientID              string  `env:"AZURE_CLIENT_ID" flag:"client-id" name:"guid" help:"client id of the user-assigned identity"`
	EndpointSuffix        string  `env:"RSMS_STORAGE_ENDPOINT_SUFFIX, default=core.windows.net" flag:"endpoint-suffix" name:"host" help:"where the cloud has its storage accounts; US Government: core.usgovcloudapi.net"`
	PrincipalID           string  `env:"RSMS_IDENTITY_PRINCIPAL_ID" flag:"principal-id" name:"guid,principal id" help:"principal id of the identity; set in a Windows container in Container Instances, whose identity endpoint wants it"`
	RequireIdentity       bool    `env:"RSMS_REQUIRE_IDENTITY" flag:"require-identity" help:"refuse a connection string, but for the emulator on this machine"`
	StoreDir              string  `env:"RSMS_STORE_DIR" flag:"store" help:"folder store instead of Azure Storage"`
	Message               string  `env:"RSMS_MESSAGE" flag:"message" help:"the message itself: JSON, @file, or - for standard input"`
	Delivery              string  `env:"RSMS_DELIVERY" flag:"delivery" help:"what launch says about the delivery of the message that it holds; nobody else sets it"`
	QueueName             string  `env:"RSMS_WORKER_QUEUE_NAME, default=rsms-jobs" flag:"queue" name:"queue,56" help:"queue of the messages"`
	PoisonQueueName       string  `env:"RSMS_WORKER_POISON_QUEUE_NAME" flag:"poison-queue" name:"queue" help:"queue of the messages that were put aside; empty = the queue with -poison behind it"`
	DoneQueueName         string  `env:"RSMS_DONE_QUEUE_NAME" flag:"done-queue" name:"queue" help:"queue of the notices, one per finished job; empty = none"`
	MaxDequeueCount       int     `env:"RSMS_WORKER_MAX_DEQUEUE_COUNT, default=5" flag:"max-dequeue-count" range:"1,1000" help:"deliveries that a message may have"`
	PollWaitSeconds       int     `env:"RSMS_WORKER_POLL_WAIT_SEC, default=0" flag:"poll-wait" range:"0,86400" help:"seconds to wait for a first message"`
	MaxMessages           int     `env:"RSMS_WORKER_MAX_MESSAGES, default=1" flag:"max-messages" range:"1,1000000" help:"messages that one process takes, one after the other; more than 1 is for local use"`
	RetryDelaySeconds     int     `env:"RSMS_RETRY_DELAY_SEC, default=15" flag:"retry-delay" range:"0,300" help:"first back-off in seconds, doubled per attempt up to 300"`
	LeaseSeconds          int     `env:"RSMS_WORKER_VISIBILITY_TIMEOUT_SEC, default=120" flag:"visibility-timeout" range:"3,604800" help:"lease length in seconds, renewed at a third of it"`
	JobTimeoutSeconds     int     `env:"RSMS_JOB_TIMEOUT_SEC, default=7200" flag:"job-timeout" range:"1,86400" help:"limit of the whole job in seconds"`
	ReplicaTimeoutSeconds int     `env:"RSMS_REPLICA_TIMEOUT_SEC, default=0" flag:"replica-timeout" range:"0,604800" help:"seconds after which the platform ends the process, above the limit of the job; 0 = not known"`
	GraceSeconds          int     `env:"RSMS_SHUTDOWN_GRACE_SEC, default=$DEFAULT_GRACE" flag:"shutdown-grace" range:"1,600" help:"seconds between a stop signal and the end of the process"`
	StartDeadlineSeconds  int     `env:"RSMS_START_DEADLINE_SEC, default=90" flag:"start-deadline" range:"1,3600" help:"seconds for the credential and the first answer from storage"`
	BasinContainer        string  `env:"RSMS_RIVERBASIN_BLOB_CONTAINER, default=riverbasin" flag:"basin-container" name:"container" help:"container of the basins"`
	ResultsContainer      string  `env:"RSMS_RESULTS_BLOB_CONTAINER, default=rsms-results" flag:"results-container" name:"container" help:"container of the results"`
	CacheContainer        string  `env:"RSMS_CACHE_BLOB_CONTAINER, default=rsms-cache" flag:"cache-container" name:"container" help:"container of the step cache"`
	ScenariosTable        string  `env:"RSMS_SCENARIOS_TABLE, default=Scenarios" flag:"scenarios-table" name:"table" help:"table of the scenarios"`
	RunsTable             string  `env:"RSMS_RUNS_TABLE, default=Runs" flag:"runs-table" name:"table" help:"table of the run records"`
	PlumeByTimeTable      string  `env:"RSMS_PLUME_BY_TIME_TABLE, default=PlumeByTime" flag:"plume-by-time-table" name:"table" help:"table of the plume by time"`
	PlumeByMileTable      string  `env:"RSMS_PLUME_BY_MILE_TABLE, default=PlumeByMile" flag:"plume-by-mile-table" name:"table" help:"table of the plume by river mile"`
	ExeDir                string  `env:"EXE_DIR" flag:"exe-dir" help:"folder of the engine executables; empty = the bundled engines"`
	EngineRunner          string  `env:"RSMS_ENGINE_RUNNER" flag:"engine-runner" help:"put before every engine command line, e.g. wine"`
	StepSeconds           int     `env:"RSMS_ENGINE_STEP_TIMEOUT_SEC, default=3600" flag:"engine-step-timeout" range:"1,86400" help:"limit of one engine process in seconds"`
	WorkDir               string  `env:"RSMS_WORK_DIR" flag:"work-dir" help:"where run folders live; empty = the system's temp folder"`
	KeepWorkDir           bool    `env:"RSMS_KEEP_WORK_DIR" flag:"keep-work-dir" help:"keep the run folder"`
	StepCache             bool    `env:"RSMS_STEP_CACHE, default=true" flag:"step-cache" help:"take an engine step that was given the same before from the cache; false runs every step"`
	CacheMaxMB            int     `env:"RSMS_CACHE_MAX_MB, default=4096" flag:"cache-max-mb" range:"1,1048576" help:"MB that the step cache may have; the oldest entries are removed"`
	CacheMaxDays          int     `env:"RSMS_CACHE_MAX_DAYS, default=14" flag:"cache-max-days" range:"1,3650" help:"days that an entry of the step cache is used"`
	Tolerance             float64 `env:"RSMS_CONCENTRATION_TOLERANCE, default=0.001" flag:"tolerance" range:"1e-12,1e6" help:"mg/L; plume rows below are not written"`
	PublishConcurrency    int     `env:"RSMS_PUBLISH_CONCURRENCY, default=16" flag:"publish-concurrency" range:"1,256" help:"parallel table transactions"`
	Ensemble              int     `env:"RSMS_ENSEMBLE, default=0" flag:"ensemble" range:"0,1000" help:"runs with other dispersion, flow and release time that give each intake a band, 2 to 1000; 0 = none"`
	EnsembleSeed          int     `env:"RSMS_ENSEMBLE_SEED, default=1" flag:"ensemble-seed" range:"0,2147483647" help:"seed of the ensemble: the same one draws the same runs"`
	VaryDispersion        float64 `env:"RSMS_VARY_DISPERSION, default=0" flag:"vary-dispersion" range:"0,10" help:"factor F by which the ensemble varies dispersion, from 1/F to F; 0 = 4 where a branch has it estimated, else 1.5"`
	VaryFlow              float64 `env:"RSMS_VARY_FLOW, default=0.1" flag:"vary-flow" range:"0,0.9" help:"part by which the ensemble varies flows, up and down"`
	VaryRelease           float64 `env:"RSMS_VARY_RELEASE_HOURS, default=0.25" flag:"vary-release" range:"0,48" help:"hours by which the ensemble varies the release time, earlier and later"`
	ExitZero              bool    `env:"RSMS_EXIT_ZERO" flag:"exit-zero" help:"turn exit codes 10 to 15 and 143 into 0; not those of compare and run --shadow"`
	ExitOnFailure         bool    `env:"RSMS_EXIT_ON_FAILURE" flag:"exit-on-failure" help:"exit with 11 also where a message of the queue was moved to the poison queue"`
	LaunchSubscription    string  `env:"RSMS_ACI_SUBSCRIPTION_ID" only:"launch" flag:"aci-subscription" name:"guid,subscription id" help:"subscription of the container groups"`
	LaunchGroup           string  `env:"RSMS_ACI_RESOURCE_GROUP" only:"launch" flag:"aci-resource-group" name:"resource group" help:"resource group that the container groups are made in"`
	LaunchLocation        string  `env:"RSMS_ACI_LOCATION" only:"launch" flag:"aci-location" name:"region" help:"region of the container groups, such as eastus2"`
	LaunchImage           string  `env:"RSMS_ACI_IMAGE" only:"launch" flag:"aci-image" name:"image" help:"Windows image of this program with its engines, host/name:tag"`
	LaunchCPU             float64 `env:"RSMS_ACI_CPU, default=2" only:"launch" flag:"aci-cpu" range:"1,32" help:"processors of a container group"`
	LaunchMemoryGB        float64 `env:"RSMS_ACI_MEMORY_GB, default=4" only:"launch" flag:"aci-memory" range:"1,256" help:"memory of a container group in GB"`
	LaunchIdentity        string  `env:"RSMS_ACI_IDENTITY_ID" only:"launch" flag:"aci-identity" name:"identity" help:"resource id of the user-assigned identity of a container group: it pulls the image and opens the account"`
	LaunchClientID        string  `env:"RSMS_ACI_IDENTITY_CLIENT_ID" only:"launch" flag:"aci-client-id" name:"guid" help:"client id of that identity"`
	LaunchPrincipalID     string  `env:"RSMS_ACI_IDENTITY_PRINCIPAL_ID" only:"launch" flag:"aci-principal-id" name:"guid,principal id" help:"principal id of that identity"`
	LaunchPollSeconds     int     `env:"RSMS_ACI_POLL_SEC, default=10" only:"launch" flag:"aci-poll" range:"1,60" help:"seconds between two looks at a container group; a subscription has 25 a second for all that works in it"`
	ARMEndpoint           string  `env:"RSMS_ARM_ENDPOINT, default=https://management.azure.com" only:"launch" flag:"arm-endpoint" name:"https" help:"Azure Resource Manager of the cloud; US Government: https://management.usgovcloudapi.net"`
	LogLevel              string  `env:"LOG_LEVEL, default=info" flag:"log-level" oneof:"debug info warn error" help:"lowest level that is logged"`
	LogFormat             string  `env:"LOG_FORMAT, default=auto" flag:"log-format" oneof:"auto text json" help:"auto = coloured text on a terminal, JSON lines otherwise"`

	// Connection is what the connection string says; nil for an identity.
	Connection *Connection `env:",noinit"`
}

// Lease is how long the message and the run record are held without renewal.
func (c *Config) Lease() time.Duration { return seconds(c.LeaseSeconds) }

// PollWait is how long a first message is waited for.
func (c *Config) PollWait() time.Duration { return seconds(c.PollWaitSeconds) }

// StartDeadline bounds the time to the first answer from storage.
func (c *Config) StartDeadline() time.Duration { return seconds(c.StartDeadlineSeconds) }

// JobTimeout is the limit of the whole job.
func (c *Config) JobTimeout() time.Duration { return seconds(c.JobTimeoutSeconds) }

// CacheMaxAge is how long an entry of the step cache is used.
func (c *Config) CacheMaxAge() time.Duration { return time.Duration(c.CacheMaxDays) * 24 * time.Hour }

// Grace is all the time there is between a stop signal and the end.
func (c *Config) Grace() time.Duration { return seconds(c.GraceSeconds) }

// LaunchPoll is how often a container group is looked at.
func (c *Config) LaunchPoll() time.Duration { return seconds(c.LaunchPollSeconds) }

// StepTimeout is the limit of one engine process.
func (c *Config) StepTimeout() time.Duration { return seconds(c.StepSeconds) }

// MaxRetryDelay is short, because a scale rule that counts hidden messages
// starts an idle process at every poll while one waits (C26).
const MaxRetryDelay = 300 * time.Second

// RetryDelay is how long a message stays hidden after its attempt, 1 for the
// first, has failed.
func (c *Config) RetryDelay(attempt int) time.Duration {
	d := seconds(c.RetryDelaySeconds)
	for ; attempt > 1 && d > 0 && d < MaxRetryDelay; attempt-- {
		d *= 2
	}
	return min(d, MaxRetryDelay)
}

// PoisonQueue is the queue of the messages that were put aside.
func (c *Config) PoisonQueue() string {
	if c.PoisonQueueName == "" {
		return c.QueueName + "-poison"
	}
	return c.PoisonQueueName
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Variable describes one setting for help texts and documentation.
type Variable struct {
	Env     string
	Flag    string // "" for a secret
	Default string
	Help    string
	Only    string // the one command that reads it, "" for all
	Bool    bool
	Secret  bool
}

// Variables lists every setting in the order of Config.
func Variables() []Variable {
	var list []Variable
	for name, f := range settings() {
		_, def, _ := strings.Cut(f.Tag.Get("env"), ", default=")
		if def == "$DEFAULT_GRACE" {
			def = defaultGrace()
		}
		list = append(list, Variable{Env: name, Flag: f.Tag.Get("flag"), Default: def, Help: f.Tag.Get("help"), Only: f.Tag.Get("only"),
			Bool: f.Type.Kind() == reflect.Bool, Secret: f.Type == reflect.TypeFor[Secret]()})
	}
	return list
}

// settings yields the fields of Config that a variable sets, and its name.
func settings() iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for f := range reflect.TypeFor[Config]().Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
			if name != "" && !yield(name, f) {
				return
			}
		}
	}
}

// defaultGrace is in seconds: Windows containers get about five in all.
func defaultGrace() string {
	if runtime.GOOS == "windows" {
		return "4"
	}
	return "20"
}
